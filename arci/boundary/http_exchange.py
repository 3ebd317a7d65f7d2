"""One HTTP request and its response: whole, or piece by piece. Sans-io."""

from __future__ import annotations

from arci.wire.http_response import LAST_CHUNK, chunk, head, response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Protocol

    from arci.wire.http_request import Head
    from arci.wire.http_response import Fields

    class Talk(Protocol):
        """The connection's side of it."""

        def stop_if_unread(self, exchange: Exchange) -> None: ...
        def closes_with(self, exchange: Exchange) -> bool: ...
        def progressed(self, exchange: Exchange) -> None: ...


__all__ = ["Exchange"]


class Exchange:
    """Whoever is asked answers once, at once or later: by `respond`, or by `begin`, any number of `write`, and `end` or
    `cut`. What is said after the end is dropped."""

    __slots__ = (
        *("_is_chunked", "_on_hang_up", "_talk", "fields", "head", "is_accepted", "is_last", "is_over", "unsent"),
    )

    def __init__(self, head: Optional[Head], talk: Talk) -> None:
        self.head = head
        self.fields: Fields = ()  # of the response, besides its own
        self.unsent = b""  # of the response, as far as it is there
        self.is_over = False  # the response is there to its end
        self.is_accepted = False  # its body is to be read
        self.is_last = False  # the connection ends with it, whatever was promised
        self._is_chunked: Optional[bool] = None  # None: it has not begun
        self._on_hang_up: Optional[Callable[[], None]] = None
        self._talk = talk

    def respond(self, status: int, body: bytes = b"") -> None:
        """The whole response. A body is JSON unless `fields` say what it is."""
        if self.is_over or self._is_chunked is not None:
            return
        self._talk.stop_if_unread(self)
        data = response(status, body, self.fields, closes=self._talk.closes_with(self))
        shows_body = self.head is None or self.head.method != "HEAD"
        self.unsent = data if shows_body else data[: len(data) - len(body)]
        self._finish()

    def when_hung_up(self, tell: Callable[[], None]) -> None:
        """Call `tell` if the client gives up before the response is over. The exchange is then of no use any more."""
        self._on_hang_up = tell

    def begin(self, status: int, length: Optional[int] = None) -> None:
        """The head of a response with `fields`; `length` of its body in bytes where it is known."""
        if self.is_over or self._is_chunked is not None:
            return
        self._is_chunked = length is None and (self.head is None or self.head.version == "1.1")
        self.is_last = length is None and not self._is_chunked  # then its end is that of the connection
        framing = ("Content-Length", str(length)) if length is not None else ("Transfer-Encoding", "chunked")
        fields = self.fields if self.is_last else (framing, *self.fields)
        self.unsent += head(status, fields, closes=self.is_last or self._talk.closes_with(self))
        self._talk.progressed(self)

    def write(self, data: bytes) -> None:
        """A piece of the body, sent at once."""
        if data and not self.is_over:
            self.unsent += chunk(data) if self._is_chunked else data
            self._talk.progressed(self)

    def end(self) -> None:
        if not self.is_over:
            if self._is_chunked:
                self.unsent += LAST_CHUNK
            self._finish()

    def cut(self) -> None:
        """End the connection after what was written: the client sees a response without its end, or none."""
        if not self.is_over:
            self.is_last = True
            self._finish()

    def hang_up(self) -> None:
        """The client is gone, or gets no response."""
        tell, self._on_hang_up = self._on_hang_up, None
        if tell is not None and not self.is_over:
            tell()
            self.cut()

    def take_unsent(self) -> bytes:
        data, self.unsent = self.unsent, b""
        return data

    def _finish(self) -> None:
        self.is_over = True
        self._on_hang_up = None
        self._talk.progressed(self)
