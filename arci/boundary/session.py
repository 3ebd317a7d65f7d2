"""What is remembered of one client between its messages, and of each request of it that is under way. Sans-io."""

from __future__ import annotations

from arci.wire.jsonrpc import error_line, result_line, spliced_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from arci.wire.jsonrpc import Id

    Notify = Callable[[str, Dict[str, Any]], None]
    Reply = Callable[[Optional[bytes], Optional[int]], None]

__all__ = ["Caller", "Session"]


class Session:
    """A line connection has one; over HTTP a client may have one over many connections, or none for longer than a
    request."""

    __slots__ = ("bad_frame", "era", "in_flight", "is_initialised", "kind", "notify", "on_initialised", "server")

    def __init__(self, kind: str, server: Optional[str], bad_frame: Callable[[str], None], notify: Notify) -> None:
        """`bad_frame(detail)` records a bad frame; `notify(method, params)` tells the client, where it can be told."""
        self.kind = kind
        """`mcp` or `worker`."""
        self.server = server
        """None on a worker's connection: the tools of all servers."""
        self.era: Optional[str] = None
        """`legacy` or `modern`; None until its first request."""
        self.is_initialised = False
        self.on_initialised: Optional[Callable[[Session], None]] = None
        self.in_flight: Dict[Id, Caller] = {}
        self.bad_frame = bad_frame
        self.notify = notify

    def initialised(self) -> None:
        """The client says that it is ready to hear."""
        self.is_initialised = True
        if self.on_initialised is not None:
            self.on_initialised(self)


class Caller:
    """Who asked, and under which id: one answer goes back, with the client's own id and its JSON type."""

    __slots__ = ("_over", "_reply", "id", "is_over", "on_cancel", "session")

    def __init__(self, session: Session, id: Id, reply: Reply, over: Callable[[Caller], None]) -> None:
        self.session = session
        self.id = id
        self.is_over = False
        """Answered, or cancelled: what is still said to it is dropped."""
        self.on_cancel: Optional[Callable[[str], None]] = None
        """Called with the client's reason when it cancels; set by whoever can stop what was asked."""
        self._reply = reply
        self._over = over

    def answer(self, result: Any) -> None:
        self._end(result_line(self.id, result), None)

    def pass_on(self, raw: bytes) -> None:
        """Answer with the bytes of a result as the environment wrote them."""
        self._end(spliced_line(self.id, raw), None)

    def refuse(self, code: int, message: str, data: Any = None) -> None:
        """Answer with a JSON-RPC error."""
        self._end(error_line(self.id, code, message, data), code)

    def refuse_bad(self, code: int, message: str) -> None:
        """The same, and record it: the request breaks the protocol."""
        self.session.bad_frame(message)
        self.refuse(code, message)

    def cancel(self, reason: str) -> None:
        """The client wants no answer any more, and gets none."""
        stop = self.on_cancel
        self._end(None, None)
        if stop is not None:
            stop(reason)

    def _end(self, line: Optional[bytes], code: Optional[int]) -> None:
        if not self.is_over:
            self.is_over = True
            self.on_cancel = None  # it holds on to the call, which holds on to this
            self._over(self)
            self._reply(line, code)
