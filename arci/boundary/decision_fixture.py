"""A function of the user's that answers decisions, in a process of its own. Sans-io."""

from __future__ import annotations

from arci.boundary.message import Ask, EndInput, Launch, Signal
from arci.boundary.model_answer import value_of
from arci.boundary.stop_order import KILL
from arci.wire.framing import MAX_CONTROL_BYTES, LineDecoder
from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from arci.boundary.alarms import Alarms
    from arci.boundary.journal import Journal
    from arci.boundary.message import Key

    FixtureArgv = Callable[[str], Tuple[List[str], str, Dict[str, str]]]
    Tell = Callable[[Optional[Dict[str, Any]], str], None]

__all__ = ["FIXTURE", "Fixture"]

FIXTURE = "decisions/fixture"
"""The name of its process. No server is called so."""


class Fixture:
    """Calls `module:function(request, seed, occurrence)`, one call at a time, through the guest `decide`."""

    def __init__(self, journal: Journal, alarms: Alarms, seconds: float) -> None:
        """`seconds`: that one call may take, from when it is made."""
        self._journal = journal
        self._alarms = alarms
        self._seconds = seconds
        self._decoder = LineDecoder(MAX_CONTROL_BYTES)
        self._waiting: List[Tuple[bytes, Tell]] = []
        self._alarm: Optional[Key] = None
        self._gone: Optional[str] = None  # why nothing can be asked any more
        self._is_stopped = False

    def start(self, argv: List[str], workdir: str, env: Dict[str, str]) -> None:
        self._journal.do(Launch(FIXTURE, argv, env, workdir))

    def ask(self, request: Dict[str, Any], seed: int, occurrence: int, tell: Tell) -> None:
        """`tell(answer, "")`, or `tell(None, problem)`."""
        if self._gone is not None:
            tell(None, self._gone)
            return
        line = dumps({"request": request, "seed": seed, "occurrence": occurrence}).encode("utf-8", "backslashreplace")
        self._waiting.append((line + b"\n", tell))
        if len(self._waiting) == 1:
            self._go_on()

    def stop(self) -> None:
        """Nothing is asked any more."""
        if not self._is_stopped:
            self._is_stopped = True
            self._drop_alarm()
            self._journal.do(EndInput(FIXTURE))

    def said(self, data: bytes) -> None:
        for line in self._decoder.feed(data):
            value = value_of(line) if isinstance(line, bytes) else None
            frame = value if isinstance(value, dict) else {}
            if not self._waiting or self._is_stopped:
                continue
            _, tell = self._waiting.pop(0)
            self._drop_alarm()
            answer = frame.get("answer")
            problem = frame.get("error")
            if isinstance(answer, dict):
                tell(answer, "")
            else:
                tell(None, problem if isinstance(problem, str) else "it gave no JSON object")
            self._go_on()

    def ended(self, how: str) -> None:
        self._fail(f"it ended by itself ({how})")

    def launch_failed(self, detail: str) -> None:
        self._fail(f"could not be started: {detail}")

    def _go_on(self) -> None:
        if self._waiting:
            self._journal.do(Ask(FIXTURE, self._waiting[0][0]))
            self._alarm = self._alarms.after("decide", self._seconds, self._overdue)

    def _overdue(self) -> None:
        self._alarm = None
        self._journal.do(Signal(FIXTURE, KILL))
        self._fail(f"no answer within {self._seconds:g} s")

    def _fail(self, detail: str) -> None:
        if self._is_stopped or self._gone is not None:
            return
        self._gone = detail
        self._drop_alarm()
        waiting, self._waiting = self._waiting, []
        for _, tell in waiting:
            tell(None, detail)
        if not waiting:
            self._journal.trouble("environment", f"decision fixture: {detail}")

    def _drop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarms.drop(self._alarm)
            self._alarm = None
