"""Where a secret may have been torn by a cut: how much of its beginning stands at the end of some bytes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["overlap", "wrapped_overlap"]

_WRAPPED = 4
"""A wrapped text is at most so many times as long as its characters."""
_GAP, _GAP_BACKWARDS = re.compile(rb"\s|\\(?:[rn]|\Z)"), re.compile(rb"\s|[rn]\\")
_TELLING = 8
"""So many characters of a wrapped text are no coincidence; fewer, with a line end among them, are ordinary lines."""


def overlap(data: bytes, form: bytes, least: int = 1) -> int:
    """Length of the longest proper beginning of `form`, of `least` bytes or more, with which `data` ends; 0: none."""
    tail = data[-(len(form) - 1) :] if len(form) > 1 else b""
    at = tail.find(form[:least])
    while at >= 0:
        if form.startswith(tail[at:]) and len(tail) - at >= least:
            return len(tail) - at
        at = tail.find(form[:least], at + 1)
    return 0


def wrapped_overlap(data: bytes, forms: Iterable[bytes], *, backwards: bool = False) -> int:
    """As `overlap`, of forms that are wrapped within `data`; blanks, line ends and their escapes in JSON are counted.

    `backwards`: data and forms are, and the escapes in them.
    """
    gap, most = _GAP_BACKWARDS if backwards else _GAP, 0
    for form in forms:
        tail = data[-_WRAPPED * len(form) :]
        if gap.search(tail) is not None:
            size = overlap(gap.sub(b"", tail), form, _TELLING)
            most = max(most, _length_with_gaps(tail, size, gap) if size else 0)
    return most


def _length_with_gaps(tail: bytes, size: int, gap: re.Pattern[bytes]) -> int:
    """How many last bytes of `tail` hold `size` bytes that belong to no gap."""
    in_gaps = {at for found in gap.finditer(tail) for at in range(*found.span())}
    places = [at for at in range(len(tail)) if at not in in_gaps]
    return len(tail) - places[-size]
