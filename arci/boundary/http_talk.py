"""HTTP on one connection: requests in, responses out in the same order, many under way. Sans-io."""

from __future__ import annotations

from arci.wire.http_request import Body, Head, RequestDecoder
from arci.wire.http_response import CONTINUE, response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional, Protocol, Tuple

    from arci.boundary.connections import Connection
    from arci.boundary.intake import Intake
    from arci.wire.http_response import Fields

    Answered = Callable[[Connection], None]

    class Site(Protocol):
        def admits(self, exchange: Exchange) -> bool: ...  # whether its body is to be read; if not, it is answered
        def take(self, connection: Connection, exchange: Exchange, body: bytes) -> None: ...


__all__ = ["Exchange", "HttpTalk"]

MOST_UNDER_WAY = 100
"""Requests of one connection that may wait for their responses; one more ends what is read from it."""


class Exchange:
    """One request and its response. Whoever is asked answers once, at once or later."""

    __slots__ = ("_talk", "data", "fields", "head", "is_accepted")

    def __init__(self, head: Optional[Head], talk: HttpTalk) -> None:
        self.head = head
        self.fields: Fields = ()  # of the response, besides its own
        self.data: Optional[bytes] = None  # the response, once it is there
        self.is_accepted = False  # its body is to be read
        self._talk = talk

    def respond(self, status: int, body: bytes = b"") -> None:
        if self.data is None:
            self._talk.respond(self, status, body)


class HttpTalk:
    """What is read after the last request that gets an answer is dropped until the client has ended the connection:
    ended from here at once, it might never see the response."""

    def __init__(self, connection: Connection, site: Site, intake: Intake, answered: Answered) -> None:
        self.connection = connection
        self.discarded = 0
        self._site = site
        self._intake = intake
        self._answered = answered
        self._parked: List[Tuple[Exchange, bytes]] = []
        self._decoder = RequestDecoder()
        self._waiting: List[Exchange] = []
        self._current: Optional[Exchange] = None
        self._is_last = False

    @property
    def buffered(self) -> int:
        return self._decoder.buffered + sum(len(body) for _, body in self._parked)

    def feed(self, data: bytes) -> None:
        if self._is_last:
            self.discarded += len(data)
            return
        for item in self._decoder.feed(data):
            if self._is_last or not self.connection.is_open:
                return
            if isinstance(item, Head):
                self._began(item)
            elif isinstance(item, Body):
                self._came(item)
            else:
                self._failed(item.status, item.detail)
        self._invite()

    def ended(self) -> None:
        if not self._is_last and not self._decoder.is_between:
            self.connection.bad_frame("ended within a request")

    def closed(self) -> None:
        self._waiting.clear()

    def respond(self, exchange: Exchange, status: int, body: bytes) -> None:
        head = exchange.head
        if not exchange.is_accepted and (head is None or head.has_body or not head.keeps_alive):
            self._stop()  # its body is not read, so nothing after it is
        closes = head is None or not head.keeps_alive or (self._is_last and exchange is self._waiting[-1])
        shows_body = head is None or head.method != "HEAD"
        data = response(status, body, exchange.fields, closes=closes)
        exchange.data = data if shows_body else data[: len(data) - len(body)]
        self._flush()
        self._answered(self.connection)

    def _open(self, head: Optional[Head]) -> Exchange:
        exchange = Exchange(head, self)
        self._waiting.append(exchange)
        self.connection.unanswered += 1
        return exchange

    def _began(self, head: Head) -> None:
        exchange = self._current = self._open(head)
        if len(self._waiting) > MOST_UNDER_WAY:
            self._failed(400, "too many requests under way", exchange)
        elif self._site.admits(exchange):
            exchange.is_accepted = True

    def _came(self, body: Body) -> None:
        exchange, self._current = self._current, None
        if exchange is None or not exchange.is_accepted:
            return
        if exchange.head is not None and not exchange.head.keeps_alive:
            self._stop()
        self._parked.append((exchange, body.data))
        if len(self._parked) == 1:
            self._go_on()

    def _go_on(self) -> None:
        """In order: what comes behind a body that must wait for room waits with it."""
        while self._parked and self.connection.is_open:
            exchange, body = self._parked[0]
            if not self._intake.has_room(len(body)):
                self._intake.wait(self._go_on)
                return
            self._site.take(self.connection, exchange, body)
            del self._parked[0]

    def _failed(self, status: int, detail: str, exchange: Optional[Exchange] = None) -> None:
        self.connection.bad_frame(detail)
        self._stop()
        exchange = exchange or self._current or self._open(None)
        if exchange.data is None:
            exchange.is_accepted = True
            exchange.respond(status)

    def _stop(self) -> None:
        self._is_last = True
        self._decoder.stop()

    def _invite(self) -> None:
        """Tell a client that waits for it to send its body, once everything before it is answered."""
        current = self._current
        if current is not None and current.is_accepted and self._waiting[:1] == [current]:
            head = current.head
            if head is not None and head.waits and head.has_body:
                head.waits = False
                self.connection.send(CONTINUE)

    def _flush(self) -> None:
        while self._waiting and self._waiting[0].data is not None:
            self.connection.send(self._waiting.pop(0).data or b"")
        if self._is_last and not self._waiting:
            self.connection.end_output()
        self._invite()
