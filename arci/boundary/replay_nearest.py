"""Which recorded call is most like one that has no recorded answer. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import AbstractSet, Any, Mapping, Optional, Sequence

__all__ = ["nearest"]

_DEEPEST = 12
"""Levels that are walked down; below, two values are the same or not."""


def nearest(
    calls: Sequence[Mapping[str, Any]], left: AbstractSet[int], kind: str, name: str, payload: Any
) -> Optional[int]:
    """Index of the call of that kind with the same name, then with the fewest places that differ, then one that was
    not asked again yet (`left`), the first of equals; None if none of that kind was recorded."""
    ranks = [
        (call["name"] != name, _distance(call["payload"], payload, _DEEPEST), index not in left, index)
        for index, call in enumerate(calls)
        if call["kind"] == kind
    ]
    return min(ranks)[3] if ranks else None


def _distance(a: Any, b: Any, levels: int) -> int:
    """In how many places two JSON values differ."""
    if levels and isinstance(a, dict) and isinstance(b, dict):
        common = a.keys() & b.keys()
        return len(a.keys() ^ b.keys()) + sum(_distance(a[key], b[key], levels - 1) for key in common)
    if levels and isinstance(a, list) and isinstance(b, list):
        return abs(len(a) - len(b)) + sum(_distance(a[i], b[i], levels - 1) for i in range(min(len(a), len(b))))
    return 0 if type(a) is type(b) and a == b else 1
