"""Problems that were found without the descriptor at hand, given their lines in it. Reads the descriptor again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from arci.errors import Problem, SpecError
from arci.manifest.descriptor import read_file
from arci.manifest.source import Source, dotted
from arci.manifest.strict_yaml import MAX_BYTES, Path, read_yaml

__all__ = ["located"]

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def located(problems: Iterable[Problem], descriptor: str, experiment_id: str) -> list[Problem]:
    """Those that name the file `descriptor`, with `file:line` and the path as it is written there; the rest as they
    are. So are all where the file is gone, or is another experiment's by now."""
    source = _source(descriptor, experiment_id)
    if source is None:
        return list(problems)
    return [_placed(problem, source) if problem.where == descriptor else problem for problem in problems]


def _source(descriptor: str, experiment_id: str) -> Source | None:
    try:
        node, _ = read_yaml(read_file(descriptor, MAX_BYTES))
    except SpecError:
        return None
    source = Source(descriptor, node)
    data = _plain(source)
    return source if data.get("experiment_id") == experiment_id else None


def _placed(problem: Problem, source: Source) -> Problem:
    path = _as_written(_path(problem.path), _plain(source))
    return Problem(f"{source.name}:{source.line(path)}", dotted(path), problem.message, problem.hint)


def _plain(source: Source) -> dict[str, Any]:
    data = None if source.root is None else source.root.plain()
    return data if isinstance(data, dict) else {}


def _path(text: str) -> Path:
    return tuple(int(number) if number else key for number, key in _PART.findall(text))


def _as_written(path: Path, data: dict[str, Any]) -> Path:
    """The path of a manifest as a descriptor has it, which may have taken the short form."""
    if path[:1] == ("environment",) and "toolset" in data:
        return ("toolset", *path[1:])
    if path == ("contract", "oracle") and "oracle" in data:
        return ("oracle",)
    if path[1:] == ("agent",) and isinstance(data.get(str(path[0])), str):
        return path[:1]
    if path[:1] == ("conditions",) and path[2:4] == ("faults", 0) and _has_single_fault(data, path[1]):
        return (*path[:2], "fault", *path[4:])
    return path


def _has_single_fault(data: dict[str, Any], position: str | int) -> bool:
    conditions = data.get("conditions")
    if not isinstance(conditions, list) or not isinstance(position, int) or position >= len(conditions):
        return False
    condition = conditions[position]
    return isinstance(condition, dict) and condition.get("fault") is not None
