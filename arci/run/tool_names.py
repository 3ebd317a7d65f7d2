"""Whether the tools that faults and the contract name are there: a misspelt one disturbs nothing and guards nothing.

Pure: a manifest and what a rehearsed environment told of itself in, findings out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.faults.kinds import target_of
from arci.faults.settings import TOOL
from arci.manifest.complaints import show
from arci.manifest.source import Finding, closest
from arci.manifest.strict_yaml import Path
from arci.model.manifest import Manifest
from arci.model.upstream import DECISION_TOOL

__all__ = ["Offer", "offer_of", "tool_cautions", "tool_problems"]

_MOST_LISTED = 30
"""Names in one message; a server may have thousands."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of an environment."""

    names: tuple[str, ...]
    """What the tools are recorded under."""
    understood: frozenset[str]
    """These, and `server.tool` of each."""
    changes: str | None
    """Why other trials may have other tools; None where they have not."""

    def missing(self, name: str) -> tuple[str, str | None] | None:
        """What is wrong with the name of a tool, and a hint; None if some server has the tool."""
        if name in self.understood:
            return None
        near = closest(name, self.names) or closest(name, sorted(self.understood))
        return f"{show(name)} is a tool that no server has; {self._allowed()}.", near

    def _allowed(self) -> str:
        if not self.names:
            return "there are no tools at all"
        rest = len(self.names) - _MOST_LISTED
        more = f" and {rest} more (arci tools lists them)" if rest > 0 else ""
        return f"allowed: {', '.join(show(name)[1:-1] for name in self.names[:_MOST_LISTED])}{more}"


def offer_of(manifest: Manifest, tools: Sequence[Mapping[str, Any]], servers: Sequence[Mapping[str, Any]]) -> Offer:
    """From `tools` and `servers` of the recorder's `ready`."""
    names = tuple(str(tool.get("name")) for tool in tools)
    own = {f"{server.get('name')}.{name}" for server in servers for name in server.get("tools") or ()}
    return Offer(names, frozenset(names) | own, _changes(manifest, servers))


def tool_problems(manifest: Manifest, offer: Offer) -> Iterator[Finding]:
    """What refuses a run: a fault that can meet nothing, and a tool that is required and cannot be called."""
    if offer.changes is None:
        yield from _missing(_needed(manifest), offer, "")


def tool_cautions(manifest: Manifest, offer: Offer) -> Iterator[Finding]:
    """What is worth a warning: a guard against a tool that is not there (a call of it would be a violation all the
    same), and whatever a tool that comes later may mend."""
    yield from _missing(_guarded(manifest), offer, "a call of that very name alone breaks the contract")
    if offer.changes is not None:
        yield from _missing(_needed(manifest), offer, f"perhaps it comes later, since {offer.changes}")


def _changes(manifest: Manifest, servers: Sequence[Mapping[str, Any]]) -> str | None:
    changing = [str(server.get("name")) for server in servers if _may_change(server)]
    if changing:
        return f"{' and '.join(changing)} may change what tools there are (listChanged)"
    return "tasks may differ in their tools" if len(manifest.tasks) > 1 else None


def _may_change(server: Mapping[str, Any]) -> bool:
    capabilities = server.get("capabilities")
    tools = capabilities.get("tools") if isinstance(capabilities, dict) else None
    return isinstance(tools, dict) and tools.get("listChanged") is True


def _needed(manifest: Manifest) -> Iterator[tuple[Path, str]]:
    for i, condition in enumerate(manifest.conditions):
        for j, fault in enumerate(condition.faults):
            if fault.tool is not None and target_of(fault.name) == TOOL:
                yield ("conditions", i, "faults", j, "tool"), fault.tool
    yield from _listed(manifest, "required_tools", manifest.contract.required_tools)


def _guarded(manifest: Manifest) -> Iterator[tuple[Path, str]]:
    yield from _listed(manifest, "forbidden_tools", manifest.contract.forbidden_tools)
    for name in manifest.contract.max_calls_per_tool:
        if not _is_decision(manifest, name):
            yield ("contract", "max_calls_per_tool", name), name


def _listed(manifest: Manifest, key: str, names: Sequence[str]) -> Iterator[tuple[Path, str]]:
    for position, name in enumerate(names):
        if not _is_decision(manifest, name):
            yield ("contract", key, position), name


def _is_decision(manifest: Manifest, name: str) -> bool:
    return name == DECISION_TOOL and manifest.decisions is not None


def _missing(named: Iterator[tuple[Path, str]], offer: Offer, note: str) -> Iterator[Finding]:
    for path, name in named:
        wrong = offer.missing(name)
        if wrong is not None:
            message, hint = wrong
            yield Finding(path, f"{message[:-1]} ({note})." if note else message, hint)
