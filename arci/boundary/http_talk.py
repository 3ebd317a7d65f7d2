"""HTTP on one connection: requests in, responses out in the same order, many under way. Sans-io."""

from __future__ import annotations

from arci.boundary.http_exchange import Exchange
from arci.wire.http_request import Body, Head, RequestDecoder
from arci.wire.http_response import CONTINUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional, Protocol, Tuple

    from arci.boundary.connections import Connection
    from arci.boundary.intake import Intake

    Answered = Callable[[Connection], None]

    class Site(Protocol):
        def admits(self, exchange: Exchange) -> bool: ...  # whether its body is to be read; if not, it is answered
        def take(self, connection: Connection, exchange: Exchange, body: bytes) -> None: ...


__all__ = ["Exchange", "HttpTalk"]

MOST_UNDER_WAY = 100
"""Requests of one connection that may wait for their responses; one more ends what is read from it."""


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
        """The client sends no more: whoever answers piece by piece takes it for a hang-up, as web servers do."""
        if not self._is_last and not self._decoder.is_between:
            self.connection.bad_frame("ended within a request")
        self._hang_up()

    def closed(self) -> None:
        self._hang_up()
        self._waiting.clear()

    # What exchanges ask

    def stop_if_unread(self, exchange: Exchange) -> None:
        """It is answered before its body is read: nothing after it is."""
        head = exchange.head
        if not exchange.is_accepted and (head is None or head.has_body or not head.keeps_alive):
            self._stop()

    def closes_with(self, exchange: Exchange) -> bool:
        """Whether its response is the last."""
        head = exchange.head
        return head is None or not head.keeps_alive or (self._is_last and exchange is self._waiting[-1])

    def progressed(self, exchange: Exchange) -> None:
        """There is something to send, or its response is over."""
        self._flush()
        if exchange.is_over:
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
            if self.connection.has_ended:
                exchange.hang_up()

    def _failed(self, status: int, detail: str, exchange: Optional[Exchange] = None) -> None:
        self.connection.bad_frame(detail)
        self._stop()
        exchange = exchange or self._current or self._open(None)
        exchange.is_accepted = True
        exchange.respond(status)

    def _stop(self) -> None:
        self._is_last = True
        self._decoder.stop()

    def _hang_up(self) -> None:
        for exchange in list(self._waiting):
            exchange.hang_up()

    def _invite(self) -> None:
        """Tell a client that waits for it to send its body, once everything before it is answered."""
        current = self._current
        if current is not None and current.is_accepted and self._waiting[:1] == [current]:
            head = current.head
            if head is not None and head.waits and head.has_body:
                head.waits = False
                self.connection.send(CONTINUE)

    def _flush(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            if first.unsent:
                self.connection.send(first.take_unsent())
            if not first.is_over:
                break
            self._waiting.pop(0)
            if first.is_last:
                self._drop_rest()
        if self._is_last and not self._waiting:
            self.connection.end_output()
        self._invite()

    def _drop_rest(self) -> None:
        """The connection ends within or after the response that was sent last: those behind it get none."""
        self._stop()
        dropped, self._waiting = self._waiting, []
        for exchange in dropped:
            exchange.hang_up()
            if not exchange.is_over:
                exchange.is_over = True
                self._answered(self.connection)
