"""For how long calls of one trial have waited for us and not for an upstream: spans that overlap count once."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Waits"]


class Waits:
    """Told of each wait by `begin` and `end`."""

    def __init__(self) -> None:
        self._ended_s = 0.0
        self._open = 0
        self._since_s = 0.0
        self._now_s: Callable[[], float] = float

    @property
    def total_s(self) -> float:
        """As of now: a wait that still goes on is counted up to here."""
        return self._ended_s + (self._now_s() - self._since_s if self._open else 0.0)

    def begin(self, now_s: Callable[[], float]) -> None:
        """A call waits from now on. `now_s`: the clock that waits are measured by."""
        if not self._open:
            self._now_s, self._since_s = now_s, now_s()
        self._open += 1

    def end(self) -> None:
        """It does so no longer."""
        ended_s = self.total_s
        self._open -= 1
        if not self._open:
            self._ended_s = ended_s
