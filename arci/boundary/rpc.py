"""JSON-RPC of the agent's side: each frame to its handler, bad ones refused at once. Sans-io.

Nothing here knows what a method means, nor whether it came as a line or over HTTP.
"""

from __future__ import annotations

from arci.boundary.session import Caller
from arci.wire.jsonrpc import INVALID_REQUEST, Bad, Notification, Request, error_line, notification_line, parse
from arci.wire.line_head import read_head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Optional

    from arci.boundary.intake import Intake
    from arci.boundary.session import Reply, Session
    from arci.wire.framing import Oversize
    from arci.wire.jsonrpc import Frame, Id

    Handler = Callable[[Caller, Dict[str, Any]], None]
    Listener = Callable[[Dict[str, Any]], None]

__all__ = ["Dispatch", "line_notifier", "progress_to"]


class Dispatch:
    """What is done with the frames of one kind of client."""

    def __init__(
        self,
        intake: Intake,
        take: Callable[[Caller, Request], None],
        too_long: Callable[[Caller, Optional[str], Oversize], None],
        notifications: Mapping[str, Listener],
    ) -> None:
        """`too_long`: answers a `tools/call` that was too long to be read; it gets the tool where that is known."""
        self._intake = intake
        self._take = take
        self._too_long = too_long
        self._notifications = notifications

    def line(self, session: Session, line: bytes | Oversize, reply: Reply) -> None:
        """One line of a client. `reply(answer, error code)` is called once, with None if there is no answer."""
        if isinstance(line, bytes):
            self.frame(session, parse(line), len(line), reply)
        else:
            self._oversize(session, line, reply)

    def frame(self, session: Session, frame: Frame, size: int, reply: Reply) -> None:
        """The same for a frame of `size` bytes."""
        if isinstance(frame, Request):
            self._request(session, frame, size, reply)
            return
        if isinstance(frame, Bad):
            session.bad_frame(frame.detail)
            reply(error_line(frame.id, frame.code, frame.detail), frame.code)
            return
        if isinstance(frame, Notification):
            self._notified(session, frame)
        else:
            session.bad_frame(f"an answer to {str(frame.id)[:80]!r}, which was not asked")
        reply(None, None)

    def _request(self, session: Session, frame: Request, size: int, reply: Reply) -> None:
        if frame.id in session.in_flight:
            problem = f"id {str(frame.id)[:80]!r} is that of a request under way"
            session.bad_frame(problem)
            reply(error_line(frame.id, INVALID_REQUEST, problem), INVALID_REQUEST)
            return
        self._take(self._caller(session, frame.id, size, reply), frame)

    def _caller(self, session: Session, id: Id, size: int, reply: Reply) -> Caller:
        self._intake.take(size)

        def over(caller: Caller) -> None:
            del session.in_flight[id]
            self._intake.release(size)

        caller = session.in_flight[id] = Caller(session, id, reply, over)
        return caller

    def _notified(self, session: Session, frame: Notification) -> None:
        if frame.method == "notifications/cancelled":
            self._cancelled(session, frame.params)
        elif frame.method == "notifications/initialized":
            session.initialised()
        else:
            listener = self._notifications.get(frame.method)
            if listener is not None:
                listener(frame.params)

    def _cancelled(self, session: Session, params: Dict[str, Any]) -> None:
        """What is no longer under way, or never was, cannot be cancelled: the protocol has it ignored."""
        id, reason = params.get("requestId"), params.get("reason")
        known = isinstance(id, str) or (isinstance(id, int) and not isinstance(id, bool))
        caller = session.in_flight.get(id) if known else None  # type: ignore[arg-type]  # known: an id
        if caller is not None:
            caller.cancel(reason[:1000] if isinstance(reason, str) else "")

    def _oversize(self, session: Session, line: Oversize, reply: Reply) -> None:
        detail = f"a frame over {line.limit_bytes} bytes"
        session.bad_frame(f"{detail}, sha256 of as many {line.sha256}, beginning {line.head[:80]!r}")
        head = read_head(line.head)
        if head.id is None or head.method != "tools/call" or head.id in session.in_flight:
            reply(error_line(head.id, INVALID_REQUEST, detail), INVALID_REQUEST)
        else:
            self._too_long(self._caller(session, head.id, 0, reply), head.tool, line)


def progress_to(session: Session, token: Any) -> Optional[Callable[[Dict[str, Any]], None]]:
    """What passes a server's progress on under the client's own token; None where it gave none."""
    if not isinstance(token, (str, int)) or isinstance(token, bool):
        return None
    return lambda params: session.notify("notifications/progress", {**params, "progressToken": token})


def line_notifier(send: Callable[[bytes], None]) -> Callable[[str, Dict[str, Any]], None]:
    """`Session.notify` for a client that reads lines."""
    return lambda method, params: send(notification_line(method, params))
