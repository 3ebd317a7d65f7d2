"""Who watches a trial while it goes on: its guests' output and its events, as they come. For one, not for runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from arci.run.masking import Masks
from arci.run.secret_forms import SHORTEST_PIECE

__all__ = ["SEES_NOTHING", "Masked", "Witness"]


class Witness(Protocol):
    """Called on the event loop; must not block and must not raise."""

    def output(self, guest: str, stream: str, data: bytes) -> None:
        """A piece, cut anywhere, of what a guest printed. `guest`: a role, or `environment:<server>`."""

    def event(self, event: Mapping[str, Any]) -> None:
        """An event of the recorder (docs/reference/control-channel.md), not yet chained."""


class _SeesNothing:
    def output(self, guest: str, stream: str, data: bytes) -> None:
        pass

    def event(self, event: Mapping[str, Any]) -> None:
        pass


SEES_NOTHING: Witness = _SeesNothing()


class Masked:
    """Hands on to a witness what it sees, without the values of declared secrets."""

    def __init__(self, witness: Witness, masks: Masks) -> None:
        self._witness = witness
        self._masks = masks
        self._held: dict[tuple[str, str], bytes] = {}

    def output(self, guest: str, stream: str, data: bytes) -> None:
        """What may be the beginning of a secret is held back until the next piece tells."""
        masked = self._masks.output(self._held.pop((guest, stream), b"") + data)
        whole = len(masked) - self._masks.torn(masked)
        if whole < len(masked):
            self._held[guest, stream] = masked[whole:]
        self._witness.output(guest, stream, masked[:whole])

    def rest(self) -> None:
        """What was held back, when nothing more comes: a piece that tells of a secret does not get through."""
        for (guest, stream), held in self._held.items():
            self._witness.output(guest, stream, held if len(held) < SHORTEST_PIECE else b"*" * len(held))
        self._held.clear()

    def event(self, event: Mapping[str, Any]) -> None:
        self._witness.event(self._masks.value(dict(event)))
