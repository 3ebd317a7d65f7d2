"""What a descriptor names on disk: task files, and the directories that images are built from. Reads, never writes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arci.errors import Problem
from arci.manifest.complaints import show
from arci.manifest.rules import mapping
from arci.manifest.source import Finding, Source
from arci.manifest.strict_json import parse_json
from arci.manifest.strict_yaml import MAX_DEPTH, read_yaml
from arci.manifest.strict_yaml import Path as NodePath
from arci.model.trial import ARMS

__all__ = ["place_files", "read_task", "read_tasks"]

_MAX_TASKS_BYTES = 64 << 20
_MOST_PROBLEMS = 20
"""Problems told of one file of tasks; the rest are counted."""


def place_files(data: Mapping[str, Any], root: Path) -> Iterator[Finding]:
    """Build contexts and Dockerfiles that are not there."""
    for arm in ARMS:
        yield from _context(mapping(data, arm), (arm,), root)
    for role, image in mapping(data, "images").items():
        if isinstance(image, dict):
            yield from _context(mapping(image, "build"), ("images", role, "build"), root)


def read_task(name: str, root: Path) -> tuple[dict[str, Any], list[Problem]]:
    """The one task of a `.json`, `.yaml` or `.yml` file."""
    try:
        data = _bytes(root / name)
        if name.endswith((".yaml", ".yml")):
            node, notes = read_yaml(data)
            value = None if node is None else node.plain()
            if notes:
                return {}, Source(name, node).noted(notes)
        else:
            value = parse_json(data, max_depth=MAX_DEPTH)
        return _object(value), []
    except ValueError as error:
        return {}, [Problem(name, "", str(error))]


def read_tasks(name: str, root: Path) -> tuple[list[dict[str, Any]], list[Problem]]:
    """The tasks of a JSONL file, one `{"id": ..., "task": {...}}` a line; blank lines are passed over."""
    tasks: list[dict[str, Any]] = []
    problems: list[Problem] = []
    first: dict[str, int] = {}
    try:
        lines = _bytes(root / name).split(b"\n")
    except ValueError as error:
        return [], [Problem(name, "", str(error))]
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            task = _task(line)
            if first.setdefault(task["id"], number) != number:
                raise ValueError(f"id {show(task['id'])} is also on line {first[task['id']]}; ids must differ.")
            tasks.append(task)
        except ValueError as error:
            problems.append(Problem(f"{name}:{number}", "", str(error)))
    if not tasks and not problems:
        problems.append(Problem(name, "", "holds no task; at least one is required."))
    return tasks, _capped(name, problems)


def _capped(name: str, problems: list[Problem]) -> list[Problem]:
    rest = len(problems) - _MOST_PROBLEMS
    if rest <= 0:
        return problems
    return [*problems[:_MOST_PROBLEMS], Problem(name, "", f"has {rest} more lines that are wrong; none is allowed.")]


def _task(line: bytes) -> dict[str, Any]:
    value = _object(parse_json(line, max_depth=MAX_DEPTH))
    unknown = sorted(value.keys() - {"id", "task"})
    if unknown:
        raise ValueError(f"{show(unknown[0])} is not a known key; allowed: id, task.")
    name = value.get("id")
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
        raise ValueError(f"id is {show(name)}; one line of text of at most 200 characters is required.")
    return {"id": name, "task": _object(value.get("task", {}))}


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{show(value)} is not a mapping; a mapping is required.")
    return value


def _bytes(path: Path) -> bytes:
    """The file's bytes; ValueError with the reason where it cannot be had."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_TASKS_BYTES + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}.") from None
    if len(data) > _MAX_TASKS_BYTES:
        raise ValueError(f"is longer than {_MAX_TASKS_BYTES} bytes; that many are allowed.")
    return data


def _context(place: Mapping[str, Any], path: NodePath, root: Path) -> Iterator[Finding]:
    context, dockerfile = place.get("context", "."), place.get("dockerfile")
    if not place.keys() & {"context", "dockerfile"} or not isinstance(context, str):
        return
    directory = os.path.join(root, context)  # noqa: PTH118, a path of the user's: os.path answers, pathlib raises
    if not os.path.isdir(directory):  # noqa: PTH112
        yield Finding((*path, "context"), f"{show(context)} is not a directory in {root}; a directory is required.")
    elif isinstance(dockerfile, str) and not os.path.isfile(os.path.join(directory, dockerfile)):  # noqa: PTH113, PTH118
        yield Finding((*path, "dockerfile"), f"{show(dockerfile)} is not a file in {context}; a file is required.")
