"""JSON-RPC on the agent's connections: each frame to its handler, bad ones refused at once. Sans-io.

A new protocol brings a table of handlers; nothing here knows what a method means.
"""

from __future__ import annotations

from arci.wire.jsonrpc import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Bad,
    Notification,
    Request,
    error_line,
    parse,
    result_line,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping, Union

    from arci.boundary.connections import Connection
    from arci.wire.framing import Oversize
    from arci.wire.jsonrpc import Id

    Handler = Callable[["Caller", Dict[str, Any]], None]
    Listener = Callable[[Dict[str, Any]], None]

__all__ = ["Caller", "Dispatch"]


class Caller:
    """Who asked, and under which id: an answer goes back with the client's own id and its JSON type."""

    __slots__ = ("connection", "id")

    def __init__(self, connection: Connection, id: Id) -> None:
        self.connection = connection
        self.id = id

    def answer(self, result: Any) -> None:
        self.connection.send(result_line(self.id, result))

    def refuse(self, code: int, message: str) -> None:
        """Answer with a JSON-RPC error."""
        self.connection.send(error_line(self.id, code, message))

    def refuse_bad(self, code: int, message: str) -> None:
        """The same, and record it: the request breaks the protocol."""
        self.connection.bad_frame(message)
        self.refuse(code, message)


class Dispatch:
    """The handlers of one kind of connection: method -> handler of requests, and of notifications."""

    def __init__(self, requests: Mapping[str, Handler], notifications: Mapping[str, Listener]) -> None:
        self._requests = requests
        self._notifications = notifications

    def take(self, connection: Connection, line: Union[bytes, Oversize]) -> None:
        """One line of a connection."""
        if not isinstance(line, bytes):
            detail = f"a frame over {line.limit_bytes} bytes, beginning {line.head[:80]!r}"
            self._refuse(connection, Bad(INVALID_REQUEST, detail))
            return
        frame = parse(line)
        if isinstance(frame, Request):
            self._request(connection, frame)
        elif isinstance(frame, Notification):
            handler = self._notifications.get(frame.method)
            if handler is not None:
                handler(frame.params)
        elif isinstance(frame, Bad):
            self._refuse(connection, frame)
        else:
            connection.bad_frame(f"an answer to {frame.id!r}, which was not asked")

    def _request(self, connection: Connection, frame: Request) -> None:
        caller = Caller(connection, frame.id)
        handler = self._requests.get(frame.method)
        if handler is None:
            caller.refuse(METHOD_NOT_FOUND, f"method {frame.method[:80]!r} is not known here")
        else:
            handler(caller, frame.params)

    def _refuse(self, connection: Connection, bad: Bad) -> None:
        connection.bad_frame(bad.detail)
        connection.send(error_line(bad.id, bad.code, bad.detail))
