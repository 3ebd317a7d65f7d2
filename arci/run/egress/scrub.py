"""Keys out of what an upstream answers, should it echo one, even where a piece ends in the middle of it. Pure."""

from __future__ import annotations

from arci.run.masking import Masks

__all__ = ["Scrub"]

_TELLING_BYTES = 8
"""So many bytes of a key at the very end of an answer are no coincidence."""


class Scrub:
    """One answer's body. Lengths stay as they are; what may be the beginning of a key waits for the next piece."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What of the body can be handed on now; empty while all of it may belong to a key."""
        masked = self._masks.output(self._held + data)
        # No key holds a line end, and events of a stream end with one: most pieces need no search.
        torn = 0 if masked.endswith(b"\n") else self._masks.torn(masked)
        cut = len(masked) - torn
        self._held = masked[cut:]
        return masked[:cut]

    def rest(self) -> bytes:
        """What was held back, at the end of the body."""
        held, self._held = self._held, b""
        return held if len(held) < _TELLING_BYTES else b"*" * len(held)
