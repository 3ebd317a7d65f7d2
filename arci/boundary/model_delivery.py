"""One answer on its way from an upstream to the agent: streams at once, anything else as a whole. Sans-io."""

from __future__ import annotations

from arci.boundary.upstream_headers import is_stream, passed_on
from arci.wire.sse import split_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional, Sequence, Tuple

    from arci.boundary.http_exchange import Exchange

__all__ = ["Delivery", "beginning_of"]


class Delivery:
    """Hears an answer. A stream with status 200 is passed on piece by piece, before anything reads it, unless it
    `is_held`; whoever is told by `done(failure)` delivers the rest."""

    def __init__(self, exchange: Exchange, is_held: bool, done: Callable[[Optional[str], str], None]) -> None:
        """`done`: told at the end, with None, or with the kind of failure and its detail."""
        self.status: Optional[int] = None
        self.headers: List[Tuple[str, str]] = []
        self.pieces: List[bytes] = []
        self.has_begun = False  # the agent has the head
        self._exchange = exchange
        self._is_held = is_held
        self._done = done

    @property
    def body(self) -> bytes:
        """What came so far."""
        return b"".join(self.pieces)

    @property
    def streams(self) -> bool:
        return is_stream(self.headers)

    def head(self, status: int, headers: Sequence[Tuple[str, str]]) -> None:
        self.status, self.headers = status, passed_on(headers)
        self._exchange.fields = tuple(self.headers)
        if status == 200 and self.streams and not self._is_held:
            self.has_begun = True
            self._exchange.begin(status)

    def chunk(self, data: bytes) -> None:
        if data:
            self.pieces.append(data)
            if self.has_begun:
                self._exchange.write(data)

    def end(self) -> None:
        self._done(None, "")

    def failed(self, kind: str, detail: str) -> None:
        self._done(kind, detail)

    def local(self, status: int, headers: Sequence[Tuple[str, str]], body: bytes) -> None:
        """An answer that is made here."""
        self.head(status, headers)
        self.chunk(body)
        self.end()

    # The rest

    def finish(self) -> None:
        """It was as it should be: give the agent what it has not got."""
        if self.has_begun:
            self._exchange.end()
        else:
            self._exchange.respond(self.status or 502, self.body)

    def cut(self) -> None:
        """End the connection within the answer, after what came of it."""
        if not self.has_begun and self.status is not None:
            self._exchange.begin(self.status)
            self._exchange.write(self.body)
        self._exchange.cut()

    def refuse(self, status: int, error: bytes) -> None:
        """Something else in place of it, where nothing has left yet; else the connection ends."""
        if self.has_begun:
            self._exchange.cut()
        else:
            self.status, self.headers, self.pieces = status, [("content-type", "application/json")], [error]
            self._exchange.fields = tuple(self.headers)
            self._exchange.respond(status, error)


def beginning_of(body: bytes, streams: bool, keep_events: Optional[int]) -> bytes:
    """What is kept of an answer that is cut: so many events of a stream (None: half of them), or half the bytes."""
    if not streams:
        return body[: len(body) // 2]
    events, _ = split_events(body)
    kept = len(events) // 2 if keep_events is None else min(keep_events, max(0, len(events) - 1))
    return b"".join(events[:kept])
