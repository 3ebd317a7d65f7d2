"""The connections of the agent's side: hello and token, lines out of bytes, floods. Knows no method. Sans-io."""

from __future__ import annotations

from arci.boundary.message import Close, Send
from arci.wire.framing import LineDecoder
from arci.wire.hello import MAX_HELLO_BYTES, hello_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, Mapping, Optional, Union

    from arci.boundary.journal import Journal
    from arci.wire.framing import Oversize

    Take = Callable[["Connection", Union[bytes, Oversize]], None]

__all__ = ["Connection", "Connections"]

BUFFER_BYTES = 64 * 1024 * 1024
"""Bytes of unfinished lines that all connections together may hold."""
FLOOD_BYTES = 64 * 1024 * 1024
"""Bytes of oversize lines after which a connection is ended."""
MOST_BAD_FRAMES = 1000
"""Bad frames after which a connection is ended."""


class Connection:
    """One connection, from its hello to its end. Sending to one that has ended is no error: nobody reads it."""

    __slots__ = ("_journal", "bad_frames", "boms", "decoder", "id", "is_open", "kind")

    def __init__(self, id: int, journal: Journal) -> None:
        self.id = id
        self.kind: Optional[str] = None
        """`status`, `mcp` or `worker`; None before its hello."""
        self.decoder = LineDecoder()
        self.is_open = True
        self.bad_frames = 0
        self.boms = 0
        self._journal = journal

    def send(self, data: bytes) -> None:
        if self.is_open:
            self._journal.do(Send(self.id, data))

    def bad_frame(self, detail: str) -> None:
        """Record a bad frame."""
        self.bad_frames += 1
        self._journal.protocol(f"{self.kind} connection: {detail}")


class Connections:
    """All open connections."""

    def __init__(self, journal: Journal, tokens: Mapping[str, str], takers: Mapping[str, Take]) -> None:
        """`tokens`, `takers`: kind of connection -> its token, and what takes its lines.

        A `status` taker is called with b"" when its connection ends.
        """
        self._journal = journal
        self._tokens = dict(tokens)
        self._takers = takers
        self._open: Dict[int, Connection] = {}

    @property
    def count(self) -> int:
        return len(self._open)

    def of_kind(self, kind: str) -> list[Connection]:
        return [c for c in self._open.values() if c.kind == kind]

    def opened(self, id: int) -> None:
        self._open[id] = Connection(id, self._journal)

    def received(self, id: int, data: bytes) -> None:
        connection = self._open.get(id)
        if connection is None:
            return  # bytes that were under way when it was closed
        for line in connection.decoder.feed(data):
            if connection.is_open:
                self._take(connection, line)
        if connection.is_open:
            self._note_bom(connection)
            self._check_flood(connection)

    def closed(self, id: int) -> None:
        """The other side has ended it."""
        connection = self._open.get(id)
        if connection is None:
            return
        if connection.decoder.buffered and connection.kind is not None:
            connection.bad_frame(f"ended within a frame, after {connection.decoder.buffered} bytes of it")
        self._forget(connection)

    def close(self, connection: Connection) -> None:
        """End it from this side."""
        if connection.is_open:
            self._journal.do(Close(connection.id))
            self._forget(connection)

    def close_all(self) -> None:
        for connection in list(self._open.values()):
            self.close(connection)

    def _take(self, connection: Connection, line: Union[bytes, Oversize]) -> None:
        if connection.kind is not None:
            self._takers[connection.kind](connection, line)
            return
        kind = hello_kind(line, self._tokens) if isinstance(line, bytes) and len(line) <= MAX_HELLO_BYTES else None
        if kind is None:
            self.close(connection)
            return
        connection.kind = kind
        if kind == "status":
            del self._tokens[kind]  # there is one reporter

    def _note_bom(self, connection: Connection) -> None:
        if connection.decoder.boms > connection.boms:
            connection.boms = connection.decoder.boms
            self._journal.protocol(f"{connection.kind} connection: byte order mark before a frame")

    def _check_flood(self, connection: Connection) -> None:
        decoder = connection.decoder
        if connection.kind is None:
            if decoder.buffered > MAX_HELLO_BYTES:
                self.close(connection)
        elif decoder.discarded > FLOOD_BYTES or connection.bad_frames > MOST_BAD_FRAMES:
            self._end_flood(connection)
        elif sum(c.decoder.buffered for c in self._open.values()) > BUFFER_BYTES:
            self._end_flood(max(self._open.values(), key=lambda c: c.decoder.buffered))

    def _end_flood(self, connection: Connection) -> None:
        self._journal.protocol(f"{connection.kind} connection: flooding, ended")
        self.close(connection)

    def _forget(self, connection: Connection) -> None:
        connection.is_open = False
        del self._open[connection.id]
        if connection.kind == "status":
            self._takers["status"](connection, b"")
