"""A toolset as the engine sees it: JSON-RPC requests with the recorder's own ids, one at a time. Sans-io."""

from __future__ import annotations

from arci.boundary.asked import ANSWERED, GONE, LATE, OVERDUE, UNSENT, Asked
from arci.boundary.message import Ask, Wake
from arci.wire.framing import MAX_CONTROL_BYTES, LineDecoder
from arci.wire.jsonrpc import Response, parse, request_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from arci.boundary.asked import Done
    from arci.boundary.journal import Journal

__all__ = ["ANSWERED", "GONE", "LATE", "OVERDUE", "TOOLSET", "UNSENT", "Peer"]

TOOLSET = "tools"
"""The name of a toolset among servers and processes."""


class Peer:
    """A toolset calls its tools one at a time, so a request is sent only when the one before it is over.

    That keeps the order of arrival, lets the time of a call start when it really can start, and means that what was
    not sent was not executed.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._decoder = LineDecoder(MAX_CONTROL_BYTES)
        self._next_id = 0
        self._waiting: List[Asked] = []
        self._open: Optional[Asked] = None
        self._overdue: Dict[int, Asked] = {}
        self.is_gone = False

    @property
    def is_busy(self) -> bool:
        """A request is under way and in time."""
        return self._open is not None

    def ask(self, method: str, params: Dict[str, Any], seconds: float, done: Done) -> Asked:
        """Send a request; `done(how, response)` as `Asked` says.

        `seconds` count from the sending. `response` is there for `ANSWERED` and `LATE`.
        """
        asked = Asked(self._next_id, method, params, seconds, done)
        self._next_id += 1
        if self.is_gone:
            done(UNSENT, None)
            return asked
        self._waiting.append(asked)
        self._send_next()
        return asked

    def cancel(self, asked: Asked) -> None:
        """Nobody waits for it any more. A toolset cannot be interrupted, so the next one still waits for its end."""
        if asked in self._waiting:
            self._waiting.remove(asked)
            asked.done(UNSENT, None)
        asked.is_cancelled = True

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
        if not asked.is_cancelled:
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
        if asked is not None and not asked.is_cancelled:
            asked.done(GONE, None)
        self.drop_unsent()

    def _answered(self, response: Response) -> None:
        asked, how = self._open, ANSWERED
        if asked is not None and asked.id == response.id:
            self._open = None
            how = LATE if asked.is_cancelled else ANSWERED
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
            self._journal.do(Ask(TOOLSET, request_line(asked.id, asked.method, asked.params)))
            self._journal.do(Wake(("peer", asked.id), self._journal.now_s + asked.seconds))
