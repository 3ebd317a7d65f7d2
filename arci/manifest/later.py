"""What the vocabulary knows and this version does not do yet: refused in one line each, before anything else. Pure."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from arci.manifest.source import Finding
from arci.manifest.strict_yaml import Path

__all__ = ["LATER_FAULTS", "without_later"]

_SAYING = "not available yet in this version"
_TOP = {
    "decisions": "leave it out",
    "models": "leave it out",
}
_ARM = {"ref": "context: DIRECTORY is"}
_MODEL_FAULTS = ("timeout", "rate_limited", "error", "overloaded", "truncated_stream", "slow", "malformed", "empty")
LATER_FAULTS = frozenset(
    {"decision_low_confidence", "decision_unavailable", *(f"model_{fault}" for fault in _MODEL_FAULTS)}
)
"""Names of faults that come with the upstreams they disturb."""


def without_later(data: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """A copy without the keys that come later, and a finding for each; null means that a key was left out."""
    rest = copy.deepcopy(data)
    return rest, list(_refused(rest))


def _refused(data: dict[str, Any]) -> Iterator[Finding]:
    yield from _take(data, _TOP, ())
    for arm in ("baseline", "candidate"):
        if isinstance(data.get(arm), dict):
            yield from _take(data[arm], _ARM, (arm,))
    if data.get("interval_method") == "newcombe":
        del data["interval_method"]
        yield Finding(("interval_method",), f"'newcombe' is {_SAYING}; clopper_pearson.")
    if isinstance(data.get("looks"), list) and data["looks"]:
        del data["looks"]
        yield Finding(("looks",), f"looks before the last are {_SAYING}; [].")


def _take(data: dict[str, Any], keys: dict[str, str], path: Path) -> Iterator[Finding]:
    for key, instead in keys.items():
        if key in data and data.pop(key) is not None:
            allowed = instead if instead.endswith("out") else f"{instead} allowed"
            yield Finding((*path, key), f"is {_SAYING}; {allowed}.")
