"""Timers by callback: the engine's parts ask to be called after some seconds. Sans-io."""

from __future__ import annotations

from arci.boundary.message import Wake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict

    from arci.boundary.journal import Journal
    from arci.boundary.message import Key

__all__ = ["Alarms"]


class Alarms:
    """Every alarm has a key of its own, `(kind, number)`; the kind only says what it is for."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._count = 0
        self._set: Dict[Key, Callable[[], None]] = {}

    def after(self, kind: str, seconds: float, ring: Callable[[], None]) -> Key:
        """Call `ring` in that many seconds, once."""
        key = (kind, self._count)
        self._count += 1
        self._set[key] = ring
        self._journal.do(Wake(key, self._journal.now_s + seconds))
        return key

    def drop(self, key: Key) -> None:
        """It need not ring any more."""
        self._set.pop(key, None)

    def due(self, key: Key) -> None:
        """The time of an alarm has come; one that was dropped does nothing."""
        ring = self._set.pop(key, None)
        if ring is not None:
            ring()
