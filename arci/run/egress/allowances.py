"""Reads what this user's machine allows: the variable ARCI_UPSTREAM_HOSTS and the file `arci/upstreams.yaml`.

The file is read only if nobody but the user can have written it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from arci.errors import Problem, SpecError
from arci.manifest.strict_yaml import MAX_BYTES, Node, read_yaml
from arci.run.egress.hosts import HOSTS_VARIABLE, Allowances, parse_pattern, parse_variable

__all__ = ["hosts_file", "read_allowances"]


def hosts_file(env: Mapping[str, str]) -> Path:
    """Where the user's file is, or would be: below XDG_CONFIG_HOME (absolute), else below `~/.config`."""
    base = env.get("XDG_CONFIG_HOME", "")
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    folder = Path(base) if base.startswith("/") else home / ".config"
    return folder / "arci" / "upstreams.yaml"


def read_allowances(env: Mapping[str, str]) -> Allowances:
    """What variable, file and built-in defaults allow. SpecError with everything that is wrong in the first two."""
    problems: list[Problem] = []
    variable: Mapping[str, tuple[str, ...]] = {}
    try:
        variable = parse_variable(env.get(HOSTS_VARIABLE, ""))
    except ValueError as error:
        problems.append(Problem(HOSTS_VARIABLE, "", str(error)))
    file = _read_file(hosts_file(env), problems)
    if problems:
        raise SpecError(problems)
    return Allowances(variable, file)


def _read_file(path: Path, problems: list[Problem]) -> dict[str, tuple[str, ...]]:
    data = b""
    try:
        with path.open("rb") as file:
            complaint = _unsafe(os.fstat(file.fileno()))
            data = b"" if complaint else file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        complaint = f"cannot be read: {error.strerror}."
    if complaint:
        problems.append(Problem(str(path), "", complaint, f"chmod 600 {path}, or set {HOSTS_VARIABLE} instead"))
        return {}
    return _parse_file(path, data, problems) if data.strip() else {}


def _unsafe(facts: os.stat_result) -> str | None:
    if not stat.S_ISREG(facts.st_mode):
        return "is not a regular file; it says where keys may go."
    if facts.st_uid != os.geteuid():
        return f"belongs to the user {facts.st_uid}, not to you ({os.geteuid()}); it says where keys may go."
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"may be written by others (mode {stat.S_IMODE(facts.st_mode):04o}); it says where keys may go."
    return None


def _parse_file(path: Path, data: bytes, problems: list[Problem]) -> dict[str, tuple[str, ...]]:
    root, notes = read_yaml(data)
    problems += [Problem(f"{path}:{note.line}" if note.line else str(path), "", note.message) for note in notes]
    if root is None:
        return {}
    if not isinstance(root.value, dict):
        problems.append(Problem(str(path), "", "is no mapping; NAME: [host, ...] is allowed."))
        return {}
    found = {}
    for name, node in root.value.items():
        try:
            found[str(name)] = _patterns(node)
        except ValueError as error:
            problems.append(Problem(f"{path}:{node.line}", str(name), str(error)))
    return found


def _patterns(node: Node) -> tuple[str, ...]:
    hosts = node.plain()
    if not isinstance(hosts, list) or not hosts or not all(isinstance(host, str) for host in hosts):
        raise ValueError("is no list of hosts; [host, ...] is allowed.")
    return tuple(parse_pattern(host) for host in hosts)
