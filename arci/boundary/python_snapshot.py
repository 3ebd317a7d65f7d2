"""Snapshots by a function of the user's, `(task, workdir) -> JSON object`, each in a process of its own. Sans-io."""

from __future__ import annotations

from arci.boundary.message import Launch, Signal
from arci.boundary.stop_order import KILL
from arci.wire.framing import MAX_CONTROL_BYTES, LineDecoder
from arci.wire.quickjson import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from arci.boundary.alarms import Alarms
    from arci.boundary.journal import Journal
    from arci.boundary.message import Key
    from arci.boundary.source import TellState

    Argv = Callable[[str, str], list[str]]

__all__ = ["PythonSnapshot"]


class PythonSnapshot:
    """One run of the function. Its process is the guest `snapshot`, which answers with one frame."""

    def __init__(self, journal: Journal, alarms: Alarms, process: str, tell: TellState) -> None:
        self._journal = journal
        self._alarms = alarms
        self._process = process
        self._tell: Optional[TellState] = tell
        self._decoder = LineDecoder(MAX_CONTROL_BYTES)
        self._answer: Optional[bytes] = None
        self._alarm: Optional[Key] = None

    def start(self, argv: list[str], task: Dict[str, Any], workdir: str, number: Optional[int], seconds: float) -> None:
        """`number`: of the server whose user id it gets; None: whoever owns `workdir`."""
        data = dumps(task).encode("utf-8", "backslashreplace")
        self._journal.do(Launch(self._process, argv, {"HOME": workdir}, workdir, number=number, input=data))
        self._alarm = self._alarms.after("snapshot", seconds, lambda: self._overdue(seconds))

    def said(self, data: bytes) -> None:
        for line in self._decoder.feed(data):
            self._answer = line if isinstance(line, bytes) else None

    def ended(self, how: str) -> None:
        """It is gone: what it has answered counts."""
        state, problem = _state(self._answer)
        self._finish(state, f"{problem} ({how})" if self._answer is None else problem)

    def launch_failed(self, detail: str) -> None:
        self._finish(None, f"could not be started: {detail}")

    def _overdue(self, seconds: float) -> None:
        self._alarm = None
        self._journal.do(Signal(self._process, KILL))
        self._finish(None, f"no answer within {seconds:g} s")

    def _finish(self, state: Optional[Dict[str, Any]], problem: Optional[str]) -> None:
        if self._alarm is not None:
            self._alarms.drop(self._alarm)
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(state, problem)


def _state(answer: Optional[bytes]) -> tuple[Optional[Dict[str, Any]], Optional[str]]:
    try:
        frame = loads(answer) if answer is not None else {}
    except (ValueError, RecursionError):
        frame = {}
    if isinstance(frame, dict) and isinstance(frame.get("state"), dict):
        return frame["state"], None
    error = frame.get("error") if isinstance(frame, dict) else None
    return None, error if isinstance(error, str) else "it gave no state"
