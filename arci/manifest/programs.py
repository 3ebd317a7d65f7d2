"""Servers and commands of a valid descriptor as the manifest holds them, every default written out. Pure."""

from __future__ import annotations

from typing import Any

from arci.manifest.rules_places import secret_name
from arci.manifest.shape import ArmShape, DescriptorShape
from arci.manifest.shape_programs import DEFAULT_SERVER, CommandShape, ServerShape, SnapshotShape

__all__ = ["arm_program", "environment_of", "named_servers"]


def named_servers(shape: DescriptorShape) -> dict[str, ServerShape]:
    """Name -> server, in the order in which they were written; empty for a toolset."""
    if shape.mcp_server is not None:
        return {shape.mcp_server.name or DEFAULT_SERVER: shape.mcp_server}
    return dict(shape.mcp_servers or {})


def environment_of(shape: DescriptorShape) -> dict[str, Any]:
    """What serves the tools."""
    if shape.toolset is not None:
        return {"kind": "toolset", "ref": shape.toolset}
    servers = [_server(name, server) for name, server in named_servers(shape).items()]
    return {"kind": "mcp", "ref": None, "servers": servers, "is_single": shape.mcp_server is not None}


def arm_program(name: str, arm: ArmShape) -> dict[str, Any]:
    """What an arm runs, with what it is told: `kind` to `infra_exit_codes` of the manifest's arm, and its `label`."""
    command = arm.command
    given = arm.env if command is None else {**arm.env, **command.env}
    secrets = {variable: secret_name(value) for variable, value in given.items()}
    return {
        "label": arm.label or arm.agent or _command_label(name, arm, command),
        "kind": "python" if command is None else "command",
        "ref": arm.agent,
        "argv": [] if command is None else list(command.argv or ()),
        "env": {variable: value for variable, value in given.items() if secrets[variable] is None},
        "secret_env": {variable: secret for variable, secret in secrets.items() if secret is not None},
        "infra_exit_codes": [] if command is None else list(command.infra_exit_codes),
    }


def _command_label(name: str, arm: ArmShape, command: CommandShape | None) -> str:
    """What tells the arms apart at a glance: the command line if it is short and plain, else where it comes from."""
    line = " ".join((command.argv if command else None) or ())
    if line and len(line) <= 80 and line.isprintable():
        return line
    return arm.image or arm.context or name


def _server(name: str, server: ServerShape) -> dict[str, Any]:
    return {
        "name": name,
        "argv": list(server.argv or ()),
        "env": dict(server.env),
        "has_image": server.image is not None,
        "snapshot": None if server.snapshot is None else _snapshot(server.snapshot),
        "crash": server.crash,
    }


def _snapshot(snapshot: str | SnapshotShape) -> dict[str, Any]:
    empty: dict[str, Any] = {"tool": None, "arguments": {}, "uri": None, "paths": [], "ref": None}
    if isinstance(snapshot, str):
        return {**empty, "kind": "python", "ref": snapshot}
    if snapshot.tool is not None:
        return {**empty, "kind": "tool", "tool": snapshot.tool, "arguments": dict(snapshot.arguments)}
    if snapshot.resource is not None:
        return {**empty, "kind": "resource", "uri": snapshot.resource}
    return {**empty, "kind": "files", "paths": list(snapshot.files or ())}
