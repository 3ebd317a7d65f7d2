"""What serves the tools of an experiment, as a sealed manifest holds it. Pure, host side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Environment", "Server", "Snapshot", "environment_of"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How the final state of an MCP server is taken. The agent can neither see nor ask for it."""

    kind: str
    """`tool` (`tool` with `arguments`), `resource` (`uri`), `files` (`paths`), or `python` (`ref`)."""
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    uri: str | None = None
    paths: tuple[str, ...] = ()
    """Paths or globs below the server's working directory, read after it has ended."""
    ref: str | None = None
    """`module:function`, `(task, workdir) -> JSON object`, run in the boundary after the server has ended."""


@dataclass(frozen=True, slots=True)
class Server:
    """One MCP server, over stdio."""

    name: str
    argv: tuple[str, ...]
    """Empty only with an image of its own: then the image's ENTRYPOINT + CMD."""
    env: dict[str, str]
    has_image: bool
    """It runs in a container of its own, whose image is `server:<name>`; else in the boundary's container."""
    snapshot: Snapshot | None
    """None: its state is the empty object, and the grader judges by evidence."""
    crash: str
    """What its death during a call of the agent counts as: `error` or `fail`."""

    @property
    def needs_files(self) -> bool:
        """Whether what it writes must outlast it."""
        return self.snapshot is not None and self.snapshot.kind in ("files", "python")


@dataclass(frozen=True, slots=True)
class Environment:
    """What serves the tools: `kind` is `toolset` (`ref` is `module:function`) or `mcp` (`servers`)."""

    kind: str
    ref: str | None
    servers: tuple[Server, ...] = ()
    is_single: bool = True
    """One server declared as `mcp_server`: its state is the final state, not an entry of it by the server's name."""

    @property
    def needs_files(self) -> bool:
        """Whether what servers write must outlast them."""
        return any(server.needs_files for server in self.servers)


def environment_of(value: Mapping[str, Any]) -> Environment:
    """The typed view of a manifest document's `environment`. KeyError, TypeError or ValueError on a malformed one."""
    servers = tuple(_server(server) for server in value.get("servers", ()))
    return Environment(value["kind"], value["ref"], servers, value.get("is_single", True))


def _server(value: Mapping[str, Any]) -> Server:
    how = value["snapshot"]
    snapshot = None if how is None else Snapshot(**{**how, "paths": tuple(how.get("paths", ()))})
    return Server(
        name=value["name"],
        argv=tuple(value["argv"]),
        env=dict(value["env"]),
        has_image=value["has_image"],
        snapshot=snapshot,
        crash=value["crash"],
    )
