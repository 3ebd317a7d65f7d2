"""The frames between the recorder and one MCP server: concurrent requests under the recorder's own ids. Sans-io.

Whatever a server writes that is no answer to an open request is recorded and given to no one.
"""

from __future__ import annotations

from arci.boundary.asked import ANSWERED, GONE, LATE, OVERDUE, UNSENT, Asked
from arci.boundary.inbound import Inbound
from arci.wire.jsonrpc import INTERNAL_ERROR, Response, notification_line, request_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from arci.boundary.alarms import Alarms
    from arci.boundary.asked import Done, OnProgress
    from arci.boundary.inbound import OnNotification
    from arci.boundary.journal import Journal

__all__ = ["MOST_OVERDUE", "Link"]

MOST_OVERDUE = 1000
"""Requests without an answer in time that are remembered, so that a late one is known."""
_MOST_FINISHED = 1000
_UNCANCELLABLE = ("initialize", "server/discover")


class Link:
    """One server's requests. `send` takes bytes for it, `on_notification` what it notifies besides progress."""

    def __init__(
        self,
        name: str,
        journal: Journal,
        alarms: Alarms,
        send: Callable[[bytes], None],
        on_notification: OnNotification,
    ) -> None:
        self.name = name
        self._journal = journal
        self._alarms = alarms
        self._send = send
        self._next_id = 1
        self._open: Dict[int, Asked] = {}
        self._overdue: Dict[int, Asked] = {}
        self._finished: Dict[int, None] = {}  # in order; only so that late progress is told from an invented one
        self.envelope: Optional[Dict[str, Any]] = None
        """`_meta` of every request to a server of the modern era."""
        self.is_gone = False
        self.inbound = Inbound(self, journal, send, on_notification)

    @property
    def is_busy(self) -> bool:
        """A request of the agent's is under way and in time."""
        return any(asked.is_of_agent and not asked.is_cancelled for asked in self._open.values())

    @property
    def serves_agent(self) -> bool:
        """A request of the agent's is under way, even if it waits for it no longer."""
        return any(asked.is_of_agent for asked in self._open.values())

    def request(
        self,
        method: str,
        params: Dict[str, Any],
        seconds: float,
        done: Done,
        on_progress: Optional[OnProgress] = None,
    ) -> Asked:
        """Send a request, `done` as `Asked` says. A progress token of the agent's is replaced by one of our own."""
        asked = Asked(self._next_id, method, params, seconds, done, on_progress)
        self._next_id += 1
        if self.is_gone:
            done(UNSENT, None)
            return asked
        self._open[asked.id] = asked
        asked.alarm = self._alarms.after("request", seconds, lambda: self._overrun(asked))
        self._send(request_line(asked.id, method, self._enveloped(asked)))
        return asked

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        self._send(notification_line(method, params))

    def cancel(self, asked: Asked, reason: str) -> None:
        """Tell the server once that nobody waits any more."""
        if asked.id in self._open and not asked.is_cancelled:
            asked.is_cancelled = True
            self._notify_cancelled(asked, reason)

    def said(self, data: bytes) -> None:
        """Bytes of the server."""
        self.inbound.said(data)

    def give_up(self) -> None:
        """Wait no longer for what is under way."""
        for asked in list(self._open.values()):
            self._overrun(asked)

    def gone(self) -> None:
        """The server has ended: nothing is answered any more."""
        self.is_gone = True
        opened, self._open = self._open, {}
        for asked in opened.values():
            self._close(asked)
            if not asked.is_cancelled:
                asked.done(GONE, None)

    def restarted(self) -> None:
        """Another process answers from now on. What the first was asked is forgotten."""
        for asked in self._open.values():
            self._close(asked)
        self._open = {}
        self.inbound.restarted()

    # What `inbound` finds in the server's lines.

    def answered(self, response: Response) -> None:
        asked = self._open.pop(response.id, None) if isinstance(response.id, int) else None
        if asked is not None:
            self._close(asked)
            asked.done(LATE if asked.is_cancelled else ANSWERED, response)
            return
        late = self._overdue.pop(response.id, None) if isinstance(response.id, int) else None
        if late is not None:
            self._finish(late.id)
            late.done(LATE, response)
        else:
            self._journal.protocol(f"server {self.name!r}: an answer to {response.id!r}, which was not asked")

    def unreadable(self, id: int, text: str) -> None:
        """The answer to a request came, and nobody can say what it is: the asker is told at once."""
        asked = self._open.get(id) or self._overdue.get(id)
        if asked is not None and asked.method == "tools/call":
            result = {"content": [{"type": "text", "text": text}], "isError": True}
            self.answered(Response(id, result, None))
        elif asked is not None:
            self.answered(Response(id, None, {"code": INTERNAL_ERROR, "message": text}))

    def all_unreadable(self, text: str) -> None:
        for id in list(self._open):
            self.unreadable(id, text)

    def is_open(self, id: int) -> bool:
        return id in self._open

    def progress(self, params: Dict[str, Any]) -> None:
        token = params.get("progressToken")
        asked = self._open.get(token) if isinstance(token, int) and not isinstance(token, bool) else None
        if asked is not None and asked.on_progress is not None and not asked.is_cancelled:
            asked.on_progress(params)
        elif asked is None:
            is_number = isinstance(token, int) and not isinstance(token, bool)
            is_late = is_number and (token in self._finished or token in self._overdue)
            what = "of a request that is over" if is_late else "with a token that was not given to it"
            self._journal.protocol(f"server {self.name!r}: progress {what} ({str(token)[:80]!r})")

    def _overrun(self, asked: Asked) -> None:
        """The time of a request is up. The server is told, as the protocol asks, so that it may stop working on it."""
        if self._open.pop(asked.id, None) is None:
            return
        self._close(asked)
        self._overdue[asked.id] = asked
        if len(self._overdue) > MOST_OVERDUE:
            del self._overdue[next(iter(self._overdue))]
        if not asked.is_cancelled:
            if asked.method not in _UNCANCELLABLE:
                self._notify_cancelled(asked, "no answer in time")
            asked.done(OVERDUE, None)

    def _notify_cancelled(self, asked: Asked, reason: str) -> None:
        self.notify("notifications/cancelled", {"requestId": asked.id, "reason": reason})

    def _close(self, asked: Asked) -> None:
        if asked.alarm is not None:
            self._alarms.drop(asked.alarm)
        self._finish(asked.id)

    def _finish(self, id: int) -> None:
        self._finished[id] = None
        if len(self._finished) > _MOST_FINISHED:
            del self._finished[next(iter(self._finished))]

    def _enveloped(self, asked: Asked) -> Dict[str, Any]:
        """The params with the recorder's own `_meta`: its progress token, and the envelope of the modern era."""
        meta = asked.params.get("_meta")
        kept = {key: value for key, value in meta.items() if key != "progressToken"} if isinstance(meta, dict) else {}
        if asked.on_progress is not None:
            kept["progressToken"] = asked.id
        kept.update(self.envelope or {})
        params = {key: value for key, value in asked.params.items() if key != "_meta"}
        return {**params, "_meta": kept} if kept else params
