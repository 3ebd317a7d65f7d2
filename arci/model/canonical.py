"""Canonical JSON and its digest: the one form in which anything of ARCI is hashed or written. Pure.

Guests import this too: standard library only, Python 3.9.
"""

from __future__ import annotations

import hashlib
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["canonical", "digest", "digest_bytes"]


def canonical(value: Any) -> bytes:
    """`value` as JSON bytes: sorted keys, no blanks, UTF-8. NaN and infinity raise ValueError.

    A lone surrogate, which UTF-8 cannot carry, is written as its JSON escape, so what was read is written back.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def digest_bytes(data: bytes) -> str:
    """SHA-256 of `data`, 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of the canonical form of `value`, 64 lower-case hex digits."""
    return digest_bytes(canonical(value))
