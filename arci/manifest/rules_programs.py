"""Rules across keys: what serves the tools, and agents that are commands. Pure, and as tolerant of wrong types as
`rules`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from arci.manifest.complaints import show
from arci.manifest.rules import items, mapping, repeated
from arci.manifest.rules_places import secret_name
from arci.manifest.source import Finding
from arci.manifest.strict_yaml import Path
from arci.model.trial import ARMS

__all__ = ["program_findings"]

_WORLDS = ("toolset", "mcp_server", "mcp_servers")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def program_findings(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything wrong in toolset, servers and commands."""
    yield from _world(data)
    is_process = _backend(data) == "process"
    for path, server in _servers(data):
        yield from _server(server, path, is_process=is_process)
    for arm in ARMS:
        yield from _command(mapping(data, arm), (arm, "command"), is_process=is_process)


def _world(data: Mapping[str, Any]) -> Iterator[Finding]:
    given = [key for key in _WORLDS if data.get(key) is not None]
    if not given:
        message = "is missing; module:function is required, or mcp_server, or mcp_servers."
        yield Finding(("toolset",), message)
    for key in given[1:]:
        message = f"stands beside {given[0]}; exactly one of toolset, mcp_server and mcp_servers is allowed."
        yield Finding((key,), message)


def _backend(data: Mapping[str, Any]) -> Any:
    isolation = data.get("isolation", "process")
    return isolation.get("backend", "process") if isinstance(isolation, dict) else isolation


def _servers(data: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    if isinstance(data.get("mcp_server"), dict):
        yield ("mcp_server",), data["mcp_server"]
    for name, server in mapping(data, "mcp_servers").items():
        if isinstance(server, dict):
            yield ("mcp_servers", name), server


def _server(server: Mapping[str, Any], path: Path, *, is_process: bool) -> Iterator[Finding]:
    argv, image = server.get("argv"), server.get("image")
    if path[0] == "mcp_servers" and server.get("name") is not None:
        yield Finding((*path, "name"), "stands beside the key that names the server; leave it out.")
    if argv is None and image is None:
        yield Finding((*path, "argv"), "is missing; argv or image is required.")
    yield from _argv(argv, (*path, "argv"))
    if image is not None and is_process:
        message = f"{show(image)} needs a container, and isolation is process; isolation docker, or argv alone."
        yield Finding((*path, "image"), message)
    for name, value in mapping(server, "env").items():
        yield from _variable(name, value, (*path, "env", name))
    if isinstance(server.get("snapshot"), dict):
        yield from _snapshot(server["snapshot"], (*path, "snapshot"))


def _variable(name: str, value: Any, path: Path) -> Iterator[Finding]:
    if name.startswith("ARCI_"):
        yield Finding(path, f"{show(name)} is ARCI's own to set; another name.")
    if isinstance(value, str) and secret_name(value) is not None:
        yield Finding(path, f"{show(value)} would be a secret of the host's; servers are given none.")
    elif isinstance(value, str) and "\0" in value:
        yield Finding(path, "holds a NUL character; text without one is allowed.")


def _snapshot(snapshot: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    ways = [key for key in ("tool", "resource", "files") if snapshot.get(key) is not None]
    if len(ways) != 1:
        found = " and ".join(ways) or "none of them"
        yield Finding(path, f"has {found}; exactly one of tool, resource and files is required.")
    if snapshot.get("arguments") and "tool" not in ways:
        yield Finding((*path, "arguments"), "are a tool's, and there is none; tool beside them.")
    if snapshot.get("files") == []:
        yield Finding((*path, "files"), "is empty; at least one path.")
    yield from repeated(items(snapshot, "files"), (*path, "files"))
    for position, pattern in enumerate(items(snapshot, "files")):
        if isinstance(pattern, str):
            yield from _pattern(pattern, (*path, "files", position))


def _pattern(pattern: str, path: Path) -> Iterator[Finding]:
    """As for evidence, below the server's working directory."""
    if PurePosixPath(pattern).is_absolute() or pattern.startswith(("~", "{")):
        message = f"{show(pattern)} is no path below the server's working directory; a relative path or glob."
        hint = "have the server write below its working directory, which is {workdir} in its argv, and name that part."
        yield Finding(path, message, hint)
    elif ".." in pattern.split("/") or PurePosixPath(pattern) == PurePosixPath():
        message = f"{show(pattern)} leaves the server's working directory or is all of it; a path or glob below it."
        yield Finding(path, message)
    elif _CONTROL.search(pattern) or "\\" in pattern:
        yield Finding(path, f"{show(pattern)} is not a path; a relative path or glob with forward slashes.")


def _command(arm: Mapping[str, Any], path: Path, *, is_process: bool) -> Iterator[Finding]:
    command = arm.get("command")
    if not isinstance(command, dict):
        return
    yield from _argv(command.get("argv"), (*path, "argv"))
    if command.get("argv") is None and is_process:
        yield Finding((*path, "argv"), "is missing; process isolation has no image whose own command could run.")
    for name in mapping(command, "env"):
        if name in mapping(arm, "env"):
            yield Finding((*path, "env", name), f"{show(name)} is also set in {path[0]}.env; once.")
    codes = items(command, "infra_exit_codes")
    for position, code in enumerate(codes):
        if code in codes[:position]:
            yield Finding((*path, "infra_exit_codes", position), f"{show(code)} is listed twice; once.")


def _argv(argv: Any, path: Path) -> Iterator[Finding]:
    if argv == []:
        yield Finding(path, "is empty; the program to run and its arguments.")
    elif isinstance(argv, list) and argv[0] == "":
        yield Finding((*path, 0), "is empty; the program to run.")
