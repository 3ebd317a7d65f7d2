"""How much of what clients asked may be under way at once, so that parsed requests do not fill the memory. Sans-io."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List

__all__ = ["Intake"]

LIGHT_BYTES = 64 * 1024
"""A request of no more than this never waits."""
OPEN_BYTES = 4 * 1024 * 1024
"""Bytes of heavier requests that may wait for their answers, or one that is larger. Parsed, they take twelve times as
much, and their answers may take as much again."""


class Intake:
    """One for all connections. Whoever finds no room keeps the bytes, which are bounded, and comes again."""

    def __init__(self, later: Callable[[Callable[[], None]], None]) -> None:
        """`later`: calls what it is given once what is being done is done, and what it needed is free again."""
        self._later = later
        self._open = 0
        self._waiting: List[Callable[[], None]] = []

    def has_room(self, size: int) -> bool:
        """Whether a request of `size` bytes may be parsed now."""
        return size <= LIGHT_BYTES or self._open == 0 or self._open + size <= OPEN_BYTES

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` once there may be room."""
        self._waiting.append(go_on)

    def take(self, size: int) -> None:
        """A request is under way: `release` it once it is over."""
        if size > LIGHT_BYTES:
            self._open += size

    def release(self, size: int) -> None:
        if size > LIGHT_BYTES:
            self._open -= size
            waiting, self._waiting = self._waiting, []
            for go_on in waiting:
                self._later(go_on)
