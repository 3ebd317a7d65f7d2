"""The connections of the agent's side: the first line of each, who is let in, floods. Knows no method. Sans-io."""

from __future__ import annotations

from arci.boundary.message import Close, EndOutput, Send
from arci.wire.hello import MAX_HELLO_BYTES, read_hello

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Mapping, Optional, Protocol

    from arci.boundary.journal import Journal
    from arci.wire.hello import Hello

    class Talk(Protocol):
        """What is spoken on a connection after its first line."""

        @property
        def buffered(self) -> int: ...  # bytes held of what has not ended
        @property
        def discarded(self) -> int: ...  # bytes dropped so far
        def feed(self, data: bytes) -> None: ...
        def ended(self) -> None: ...  # nothing more will be fed
        def closed(self) -> None: ...  # and nothing can be sent any more

    class Doors(Protocol):
        """None: not let in."""

        def hello(self, connection: Connection, hello: Hello) -> Optional[Talk]: ...
        def http(self, connection: Connection, request_line: bytes) -> Optional[Talk]: ...


__all__ = ["Connection", "Connections"]

BUFFER_BYTES = 40 * 1024 * 1024
"""Bytes of unfinished lines and bodies that all connections together may hold."""
FLOOD_BYTES = 64 * 1024 * 1024
"""Bytes of oversize lines after which a connection is ended."""
MOST_BAD_FRAMES = 1000
"""Bad frames after which a connection is ended."""

_READS_ON = ("mcp", "worker", "http")
"""Kinds whose other side may still read when it sends no more."""


class Connection:
    """One connection, from its first line to its end. Sending to one that has ended is no error: nobody reads it."""

    __slots__ = (
        *("_journal", "bad_frames", "counted", "has_ended", "id", "is_open", "kind", "opening", "talk", "unanswered"),
    )

    def __init__(self, id: int, journal: Journal) -> None:
        self.id = id
        self.kind: Optional[str] = None
        """`status`, `environment`, `mcp`, `worker` or `http`; None before its first line."""
        self.opening = b""  # what came of its first line
        self.talk: Optional[Talk] = None
        self.is_open = True
        self.has_ended = False
        """The other side sends no more: it is ended once all that it asked is answered."""
        self.unanswered = 0
        """Things asked that are still to be answered, counted by its talk."""
        self.bad_frames = 0
        self.counted = 0  # of its bytes, in the budget of all
        self._journal = journal

    def send(self, data: bytes) -> None:
        if self.is_open:
            self._journal.do(Send(self.id, data))

    def end_output(self) -> None:
        """Half-close it, after what was sent before."""
        if self.is_open:
            self._journal.do(EndOutput(self.id))

    def bad_frame(self, detail: str) -> None:
        """Record a bad frame."""
        self.bad_frames += 1
        self.note(detail)

    def note(self, detail: str) -> None:
        """Record what is tolerated."""
        self._journal.protocol(f"{self.kind} connection: {detail}")


class Connections:
    """All open connections."""

    def __init__(self, journal: Journal, tokens: Mapping[str, str], doors: Doors) -> None:
        """`tokens`: kind of connection -> the token that its hello must carry."""
        self._journal = journal
        self._tokens = dict(tokens)
        self._doors = doors
        self._open: Dict[int, Connection] = {}
        self._buffered = 0

    @property
    def count(self) -> int:
        """Those over which the agent's container may still say something."""
        return sum(not (c.kind == "environment" or c.has_ended) for c in self._open.values())

    def of_kind(self, kind: str) -> List[Connection]:
        return [c for c in self._open.values() if c.kind == kind]

    def opened(self, id: int) -> None:
        self._open[id] = Connection(id, self._journal)

    def received(self, id: int, data: bytes) -> None:
        connection = self._open.get(id)
        if connection is None:
            return  # bytes that were under way when it was closed
        if connection.talk is None:
            data = self._first_line(connection, data)
        if connection.talk is not None and data:
            connection.talk.feed(data)
        if connection.is_open:
            self._check_flood(connection)
            self._close_if_done(connection)

    def half_closed(self, id: int) -> None:
        """The other side sends no more."""
        connection = self._open.get(id)
        if connection is not None:
            self._end_input(connection)
            self._close_if_done(connection)

    def closed(self, id: int) -> None:
        """The other side has ended it."""
        connection = self._open.get(id)
        if connection is not None:
            self._end_input(connection)
            if connection.is_open:  # what ends with its input may have closed it
                self._forget(connection)

    def answered(self, connection: Connection) -> None:
        """Something that was asked over it is over."""
        connection.unanswered -= 1
        if connection.is_open:
            self._count(connection)
        self._close_if_done(connection)

    def close(self, connection: Connection) -> None:
        """End it from this side."""
        if connection.is_open:
            self._journal.do(Close(connection.id))
            self._forget(connection)

    def close_all(self) -> None:
        for connection in list(self._open.values()):
            if connection.kind != "environment":
                self.close(connection)

    def _first_line(self, connection: Connection, data: bytes) -> bytes:
        """Let in who is to be let in; what is left for its talk."""
        connection.opening = (connection.opening + data).lstrip(b"\r\n")
        line, newline, rest = connection.opening.partition(b"\n")
        if len(line) > MAX_HELLO_BYTES:
            self.close(connection)
            return b""
        if not newline:
            return b""
        whole, connection.opening = connection.opening, b""
        hello = read_hello(line.rstrip(b"\r"), self._tokens)
        if hello is not None:
            connection.kind = hello.kind
            connection.talk = self._doors.hello(connection, hello)
        elif line.rstrip(b"\r").endswith((b" HTTP/1.1", b" HTTP/1.0")):
            connection.kind = "http"
            connection.talk = self._doors.http(connection, line)
            rest = whole
        if connection.talk is None:
            self.close(connection)
        elif connection.kind == "status":
            del self._tokens["status"]  # there is one reporter
        return rest

    def _end_input(self, connection: Connection) -> None:
        if not connection.has_ended:
            connection.has_ended = True
            if connection.talk is not None:
                connection.talk.ended()

    def _close_if_done(self, connection: Connection) -> None:
        if connection.has_ended and (connection.kind not in _READS_ON or not connection.unanswered):
            self.close(connection)

    def _check_flood(self, connection: Connection) -> None:
        talk = connection.talk
        if talk is None:
            return
        self._count(connection)
        if talk.discarded > FLOOD_BYTES or connection.bad_frames > MOST_BAD_FRAMES:
            self._end_flood(connection)
        elif self._buffered > BUFFER_BYTES:
            self._end_flood(max(self._open.values(), key=lambda c: c.counted))

    def _count(self, connection: Connection) -> None:
        """Bring the budget up to date."""
        held = 0 if connection.talk is None else connection.talk.buffered
        self._buffered += held - connection.counted
        connection.counted = held

    def _end_flood(self, connection: Connection) -> None:
        self._journal.protocol(f"{connection.kind} connection: flooding, ended")
        self.close(connection)

    def _forget(self, connection: Connection) -> None:
        connection.is_open = False
        del self._open[connection.id]
        self._buffered -= connection.counted
        if connection.talk is not None:
            connection.talk.closed()
