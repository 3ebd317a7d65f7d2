"""How a server is ended: its input is closed, then TERM, then KILL, each only after it had its time. Sans-io."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional

    from arci.boundary.alarms import Alarms
    from arci.boundary.message import Key

__all__ = ["KILL", "KILL_S", "REMOTE_S", "STDIN_S", "TERM", "TERM_S", "StopOrder"]

TERM = 15
KILL = 9
STDIN_S = 5.0
TERM_S = 2.0
KILL_S = 2.0
"""How long a killed process may take to be gone."""
REMOTE_S = 8.0
"""How long one in a container of its own may take for all of it: its `arci-init` does what is done here."""


class StopOrder:
    """One server's end. `tell(steps, how)`: what it took, and how it ended."""

    def __init__(
        self,
        alarms: Alarms,
        end_input: Callable[[], None],
        signal: Optional[Callable[[int], None]],
        tell: Callable[[List[str], str], None],
    ) -> None:
        """`signal`: None where that is another's to do."""
        self._alarms = alarms
        self._end_input = end_input
        self._signal = signal
        self._tell = tell
        self._steps: List[str] = []
        self._alarm: Optional[Key] = None
        self._is_over = False

    def start(self) -> None:
        self._steps.append("stdin")
        self._end_input()
        if self._signal is None:
            self._wait(REMOTE_S, self._give_up)
        else:
            self._wait(STDIN_S, lambda: self._strike("TERM", TERM, TERM_S, self._kill))

    def ended(self, how: str) -> None:
        """It is gone."""
        if not self._is_over:
            self._is_over = True
            if self._alarm is not None:
                self._alarms.drop(self._alarm)
            self._tell(self._steps, how)

    def _kill(self) -> None:
        self._strike("KILL", KILL, KILL_S, self._give_up)

    def _strike(self, step: str, number: int, seconds: float, then: Callable[[], None]) -> None:
        self._steps.append(step)
        if self._signal is not None:
            self._signal(number)
        self._wait(seconds, then)

    def _give_up(self) -> None:
        self._alarm = None
        self.ended("still there")

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        self._alarm = self._alarms.after("stop", seconds, then)
