"""Values as YAML on one line: plain where plain text means itself, quoted as JSON else. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from arci.manifest.scalars import resolve

__all__ = ["flow"]

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./@+*-]*(:[A-Za-z0-9_./@+*-]+)*")
"""Text that needs no quotes within `[...]` and `{...}` either."""
_SIMPLE_KEY_CHARS = 1000
"""YAML looks no further than 1024 characters for the colon behind a key."""
_BOOLEANS = frozenset({"y", "n", "yes", "no", "on", "off"})
"""Text here, and booleans to older readers of YAML: quoted, so that nobody is in doubt."""


def flow(value: Any) -> str:
    """`value` (JSON) such that a descriptor's reader gives it back."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(flow(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and _means_itself(value):
        return value
    return json.dumps(value, ensure_ascii=True)


def _key(text: str) -> str:
    """A key as YAML takes it: a long one has to say that it is one."""
    return text if len(text) <= _SIMPLE_KEY_CHARS else f"? {text} "


def _means_itself(text: str) -> bool:
    try:
        return resolve(text) == text and text.lower() not in _BOOLEANS
    except ValueError:
        return False
