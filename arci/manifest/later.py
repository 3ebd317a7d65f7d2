"""What the vocabulary knows and this version does not do yet: refused in one line each, before anything else. Pure."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from arci.manifest.source import Finding
from arci.manifest.strict_yaml import Path

__all__ = ["without_later"]

_SAYING = "not available yet in this version"
_ARM = {"ref": "context: DIRECTORY is"}


def without_later(data: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """A copy without the keys that come later, and a finding for each; null means that a key was left out."""
    rest = copy.deepcopy(data)
    return rest, list(_refused(rest))


def _refused(data: dict[str, Any]) -> Iterator[Finding]:
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
            yield Finding((*path, key), f"is {_SAYING}; {instead} allowed.")
