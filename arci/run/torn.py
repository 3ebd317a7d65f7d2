"""Where a secret may have been torn by a cut: how much of its beginning stands at the end of some bytes. Pure."""

from __future__ import annotations

__all__ = ["overlap"]


def overlap(data: bytes, form: bytes, least: int = 1) -> int:
    """Length of the longest proper beginning of `form`, of `least` bytes or more, with which `data` ends; 0: none."""
    tail = data[-(len(form) - 1) :] if len(form) > 1 else b""
    at = tail.find(form[:least])
    while at >= 0:
        if form.startswith(tail[at:]) and len(tail) - at >= least:
            return len(tail) - at
        at = tail.find(form[:least], at + 1)
    return 0
