"""What is spoken on connections that begin with a hello: lines, or the raw bytes of a server. Sans-io."""

from __future__ import annotations

from arci.boundary.rpc import line_notifier
from arci.boundary.session import Session
from arci.wire.framing import LineDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional, Union

    from arci.boundary.connections import Connection
    from arci.boundary.intake import Intake
    from arci.boundary.rpc import Dispatch
    from arci.boundary.servers import Servers
    from arci.boundary.status import Status
    from arci.wire.framing import Oversize

__all__ = ["ClientTalk", "ServerTalk", "StatusTalk"]


class _Lines:
    """Cuts bytes into lines."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._decoder = LineDecoder()
        self._boms = 0

    @property
    def buffered(self) -> int:
        return self._decoder.buffered

    @property
    def discarded(self) -> int:
        return self._decoder.discarded

    def feed(self, data: bytes) -> None:
        for line in self._decoder.feed(data):
            if self.connection.is_open:
                self.take(line)
        if self._decoder.boms > self._boms:
            self._boms = self._decoder.boms
            self.connection.note("byte order mark before a frame")

    def take(self, line: bytes | Oversize) -> None:
        raise NotImplementedError

    def ended(self) -> None:
        if self._decoder.buffered:
            self.connection.bad_frame(f"ended within a frame, after {self._decoder.buffered} bytes of it")

    def closed(self) -> None:
        pass


class StatusTalk(_Lines):
    """The lines of arci-init."""

    def __init__(self, connection: Connection, status: Status) -> None:
        super().__init__(connection)
        self._status = status

    def take(self, line: bytes | Oversize) -> None:
        self._status.take(self.connection, line)

    def closed(self) -> None:
        self._status.lost()


class ClientTalk(_Lines):
    """JSON-RPC of an MCP client or of a worker, a frame in each line."""

    def __init__(
        self,
        connection: Connection,
        server: Optional[str],
        dispatch: Dispatch,
        intake: Intake,
        answered: Callable[[Connection], None],
        left: Callable[[Connection], None],
    ) -> None:
        """`answered`: told when something that was asked is over; `left`: when the connection is."""
        super().__init__(connection)
        notify = line_notifier(connection.send)
        self.session = Session(connection.kind or "", server, connection.bad_frame, notify)
        self._dispatch = dispatch
        self._intake = intake
        self._answered = answered
        self._left = left
        self._parked: List[Union[bytes, Oversize]] = []

    @property
    def buffered(self) -> int:
        return super().buffered + sum(_size(line) for line in self._parked)

    def take(self, line: bytes | Oversize) -> None:
        """In order: what comes behind a line that must wait for room waits with it."""
        self.connection.unanswered += 1
        self._parked.append(line)
        if len(self._parked) == 1:
            self._go_on()

    def _go_on(self) -> None:
        while self._parked and self.connection.is_open:
            line = self._parked[0]
            if not self._intake.has_room(_size(line)):
                self._intake.wait(self._go_on)
                return
            self._dispatch.line(self.session, line, self._reply)
            del self._parked[0]

    def closed(self) -> None:
        self._left(self.connection)

    def _reply(self, line: Optional[bytes], code: Optional[int]) -> None:
        if line is not None:
            self.connection.send(line)
        self._answered(self.connection)


def _size(line: bytes | Oversize) -> int:
    return len(line) if isinstance(line, bytes) else 0


class ServerTalk:
    """The output of a server that runs in a container of its own, handed on as it comes."""

    buffered = 0
    discarded = 0

    def __init__(self, server: str, servers: Servers) -> None:
        self._server = server
        self._servers = servers

    def feed(self, data: bytes) -> None:
        self._servers.said(self._server, data)

    def ended(self) -> None:
        pass

    def closed(self) -> None:
        self._servers.closed(self._server)
