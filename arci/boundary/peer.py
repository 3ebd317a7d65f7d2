"""The environment as the engine sees it: JSON-RPC requests with the recorder's own ids, one at a time. Sans-io."""

from __future__ import annotations

from arci.boundary.message import Ask, Wake
from arci.wire.framing import MAX_CONTROL_BYTES, LineDecoder
from arci.wire.jsonrpc import Response, parse, request_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from arci.boundary.journal import Journal

    Done = Callable[[str, Optional[Response]], None]

__all__ = ["ANSWERED", "GONE", "LATE", "OVERDUE", "UNSENT", "Peer"]

ANSWERED = "answered"
OVERDUE = "overdue"
"""No answer in time. A `LATE` one may follow."""
LATE = "late"
GONE = "gone"
"""The environment ended before it answered."""
UNSENT = "unsent"
"""Never sent, because environment or agent were gone first; so it was not executed."""


class _Asked:
    __slots__ = ("done", "id", "method", "params", "seconds")

    def __init__(self, id: int, method: str, params: Dict[str, Any], seconds: float, done: Done) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.seconds = seconds
        self.done = done


class Peer:
    """A toolset calls its tools one at a time, so a request is sent only when the one before it is over.

    That keeps the order of arrival, lets the time of a call start when it really can start, and means that what was
    not sent was not executed.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._decoder = LineDecoder(MAX_CONTROL_BYTES)
        self._next_id = 0
        self._waiting: List[_Asked] = []
        self._open: Optional[_Asked] = None
        self._overdue: Dict[int, _Asked] = {}
        self.is_gone = False

    @property
    def is_busy(self) -> bool:
        """A request is under way and in time."""
        return self._open is not None

    def ask(self, method: str, params: Dict[str, Any], seconds: float, done: Done) -> None:
        """Send a request; `done(how, response)` is called once, and once more with `LATE` if it was `OVERDUE`.

        `seconds` count from the sending. `response` is there for `ANSWERED` and `LATE`.
        """
        asked = _Asked(self._next_id, method, params, seconds, done)
        self._next_id += 1
        if self.is_gone:
            done(UNSENT, None)
            return
        self._waiting.append(asked)
        self._send_next()

    def said(self, data: bytes) -> None:
        """Bytes of the environment."""
        for line in self._decoder.feed(data):
            frame = parse(line) if isinstance(line, bytes) else None
            if isinstance(frame, Response):
                self._answered(frame)
            else:
                self._journal.protocol(
                    f"environment: no answer but {line[:80]!r}"
                    if isinstance(line, bytes)
                    else "environment: a line over the limit"
                )

    def overdue(self, id: int) -> None:
        """The time of a request is up."""
        asked = self._open
        if asked is None or asked.id != id:
            return
        self._open = None
        self._overdue[id] = asked
        self._send_next()
        asked.done(OVERDUE, None)

    def give_up(self) -> None:
        """Wait no longer for the request under way."""
        if self._open is not None:
            self.overdue(self._open.id)

    def drop_unsent(self) -> None:
        """Give up what was not sent yet."""
        waiting, self._waiting = self._waiting, []
        for asked in waiting:
            asked.done(UNSENT, None)

    def gone(self) -> None:
        """The environment has ended: nothing is answered any more."""
        self.is_gone = True
        asked, self._open = self._open, None
        if asked is not None:
            asked.done(GONE, None)
        self.drop_unsent()

    def _answered(self, response: Response) -> None:
        asked, how = self._open, ANSWERED
        if asked is not None and asked.id == response.id:
            self._open = None
            self._send_next()
        else:
            asked, how = self._overdue.pop(response.id, None) if isinstance(response.id, int) else None, LATE
        if asked is None:
            self._journal.protocol(f"environment: an answer to {response.id!r}, which was not asked")
        else:
            asked.done(how, response)

    def _send_next(self) -> None:
        if self._open is None and self._waiting:
            asked = self._open = self._waiting.pop(0)
            self._journal.do(Ask(request_line(asked.id, asked.method, asked.params)))
            self._journal.do(Wake(("peer", asked.id), self._journal.now_s + asked.seconds))
