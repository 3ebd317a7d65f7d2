"""The tools of an experiment for people: name, arguments, what it does; and what is hidden. Pure, trusts no server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arci.report.escape import fold, printable

__all__ = ["render_tools"]

_MOST_OF_A_DESCRIPTION = 400


def render_tools(
    tools: Sequence[Mapping[str, Any]], servers: Sequence[Mapping[str, Any]], hidden: Sequence[str]
) -> str:
    """Text of at most 100 columns, ended by a newline. The arguments are as `ready` has them: see `Tools` in `run`."""
    return "\n".join(line.rstrip() for line in _lines(tools, servers, hidden)) + "\n"


def _lines(
    tools: Sequence[Mapping[str, Any]], servers: Sequence[Mapping[str, Any]], hidden: Sequence[str]
) -> Iterator[str]:
    yield "servers"
    for server in servers:
        yield from fold(_server(server), "  ", "    ")
    yield ""
    yield f"tools that the agent sees: {len(tools)}"
    for tool in tools:
        yield from fold(_signature(tool), "  ", "      ")
        description = str(tool.get("description") or "").strip()
        if description:
            cut = (
                description
                if len(description) <= _MOST_OF_A_DESCRIPTION
                else description[:_MOST_OF_A_DESCRIPTION] + " ..."
            )
            yield from fold(" ".join(cut.split()), "      ", "      ")
    if hidden:
        yield ""
        yield "hidden from the agent, for the snapshot alone"
        yield from (f"  {printable(name)}" for name in hidden)


def _server(server: Mapping[str, Any]) -> str:
    info = server.get("info") if isinstance(server.get("info"), Mapping) else None
    says = [str(info.get(key)) for key in ("name", "version") if info.get(key)] if info else []
    spoken = " ".join(str(server[key]) for key in ("era", "revision") if server.get(key))
    return ", ".join(part for part in (str(server.get("name")), " ".join(says), spoken) if part)


def _signature(tool: Mapping[str, Any]) -> str:
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    required = schema.get("required") if isinstance(schema, Mapping) else None
    must = set(required) if isinstance(required, list) and all(isinstance(name, str) for name in required) else set()
    arguments = [
        f"{name}{'' if name in must else '?'}: {_type(kind)}"
        for name, kind in (properties.items() if isinstance(properties, Mapping) else ())
    ]
    return f"{tool.get('name')}({', '.join(arguments)})"


def _type(schema: Any) -> str:
    """A JSON Schema in a word or two."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(schema.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"][:8])
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return " | ".join(dict.fromkeys(map(_type, schema[key][:8])))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"[{_type(schema['items'])}]"
    return str(kind) if kind else "any"
