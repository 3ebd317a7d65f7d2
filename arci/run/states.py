"""The environment's state as the grader and the record see it: what the recorder told, with the files in it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arci.model.manifest import Environment, Server

__all__ = ["StateMissing", "file_servers", "joined_state"]


class StateMissing(ValueError):
    """The recorder told no state of a server, or one that is no JSON object."""


def file_servers(environment: Environment) -> tuple[Server, ...]:
    """The servers whose state the host reads out of their files."""
    return tuple(s for s in environment.servers if s.snapshot is not None and s.snapshot.kind == "files")


def joined_state(environment: Environment, told: Mapping[str, Any], files: Mapping[str, Any]) -> dict[str, Any]:
    """`told`: a toolset's state, or server -> state. `files`: server -> `{"files": ...}`. StateMissing as above.

    One `mcp_server` is its own state; of `mcp_servers` it is name -> state.
    """
    if environment.kind == "toolset":
        return dict(told)
    states = {server.name: _state(server, told, files) for server in environment.servers}
    return states[environment.servers[0].name] if environment.is_single else states


def _state(server: Server, told: Mapping[str, Any], files: Mapping[str, Any]) -> dict[str, Any]:
    if server.snapshot is None:
        return {}
    state = files.get(server.name) if server.snapshot.kind == "files" else told.get(server.name)
    if not isinstance(state, dict):
        raise StateMissing(f"there is no state of the server {server.name}")
    return state
