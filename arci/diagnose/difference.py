"""Where two steps differ: the first field of theirs that does, and what stands there on either side. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arci.model.canonical import canonical

__all__ = ["ABSENT", "Difference", "first_difference"]

ABSENT = "(absent)"
_DEEPEST = 12
"""Levels that are walked down; below, the whole value is shown. Hostile values nest a thousand deep."""
_LEAD, _MOST = 24, 160
"""Characters shown of a text before the first that differs, and in all."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place in two values. `a` and `b` are JSON, or `ABSENT`; long ones are cut around where they part."""

    path: str
    """Such as `arguments.items[2].price`; empty where the values themselves differ."""
    a: str
    b: str


def first_difference(a: Any, b: Any) -> Difference | None:
    """The first place, in the order of the keys, where two JSON values differ; None if they are the same."""
    if canonical(a) == canonical(b):
        return None
    path = ""
    for _ in range(_DEEPEST):
        child = _differing_child(a, b)
        if child is None:
            break
        name, a, b = child
        path = f"{path}{name}" if name.startswith("[") or not path else f"{path}.{name}"
    return Difference(path, *_excerpts(a, b))


class _Absent:
    """Stands for what one of two values does not have."""


_NOTHING = _Absent()


def _differing_child(a: Any, b: Any) -> tuple[str, Any, Any] | None:
    """Name and both sides of the first child that differs; None where the two have no children to compare."""
    if isinstance(a, dict) and isinstance(b, dict):
        pairs = ((str(key), a.get(key, _NOTHING), b.get(key, _NOTHING)) for key in sorted(a.keys() | b.keys()))
    elif isinstance(a, list) and isinstance(b, list):
        longer = range(max(len(a), len(b)))
        pairs = ((f"[{i}]", a[i] if i < len(a) else _NOTHING, b[i] if i < len(b) else _NOTHING) for i in longer)
    else:
        return None
    return next((pair for pair in pairs if _differ(pair[1], pair[2])), None)


def _differ(a: Any, b: Any) -> bool:
    if a is _NOTHING or b is _NOTHING:
        return a is not b
    return canonical(a) != canonical(b)


def _excerpts(a: Any, b: Any) -> tuple[str, str]:
    x, y = _written(a), _written(b)
    same = next((i for i, (p, q) in enumerate(zip(x, y, strict=False)) if p != q), min(len(x), len(y)))
    start = max(0, same - _LEAD) if max(len(x), len(y)) > _MOST else 0
    return _cut(x, start), _cut(y, start)


def _written(value: Any) -> str:
    return ABSENT if value is _NOTHING else canonical(value).decode("utf-8")


def _cut(text: str, start: int) -> str:
    end = start + _MOST
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
