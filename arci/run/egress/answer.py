"""One answer of an upstream as it comes: its head, then its body in pieces, within a deadline and a cap."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import cast

import anyio
import httpx

from arci.run.egress.failure import CallFailed, Failure
from arci.run.egress.scrub import Scrub
from arci.run.egress.wire_errors import wire_failure
from arci.run.masking import Masks

__all__ = ["MOST_ANSWER_BYTES", "Answer"]

MOST_ANSWER_BYTES = 16 << 20
_NOT_HANDED_ON = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade"),
        *("proxy-authenticate", "set-cookie", "set-cookie2", "alt-svc"),
    }
)
_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})


class Answer:
    """Must be closed. `headers`: lower-case names, without what concerns the connection alone, without keys."""

    def __init__(self, response: httpx.Response, gap_s: float, masks: Masks) -> None:
        self.status = response.status_code
        self.encoding = response.headers.get("content-encoding", "").strip().lower()
        self.headers = self._handed_on(response, masks)
        self._response = response
        self._gap_s = gap_s
        self._masks = masks

    def _handed_on(self, response: httpx.Response, masks: Masks) -> list[tuple[str, str]]:
        left_out = set(_NOT_HANDED_ON)
        if self.encoding:  # what is handed on is decoded
            left_out |= {"content-encoding", "content-length"}
        pairs = ((name.lower(), value) for name, value in response.headers.multi_items())
        return [(name, masks.text(value)) for name, value in pairs if name not in left_out]

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The body, plain and without keys, in pieces as they come. CallFailed where it breaks, stalls or never ends.

        At most `gap_s` seconds may pass between two pieces.
        """
        if self.encoding not in _ENCODINGS:
            detail = f"the answer is encoded as {self.encoding[:40]!r}, though plain bytes were asked for"
            raise CallFailed(Failure("protocol", detail))
        scrub = Scrub(self._masks)
        size = 0
        async with aclosing(cast("AsyncGenerator[bytes, None]", self._response.aiter_bytes())) as stream:
            while (piece := await self._next(stream)) is not None:
                size += len(piece)
                if size > MOST_ANSWER_BYTES:
                    raise CallFailed(Failure("too_large", f"the answer has more than {MOST_ANSWER_BYTES} bytes"))
                if clean := scrub.feed(piece):
                    yield clean
        if rest := scrub.rest():
            yield rest

    async def _next(self, stream: AsyncIterator[bytes]) -> bytes | None:
        """The next piece, None at the end."""
        failure: Failure
        try:
            with anyio.fail_after(self._gap_s):
                return await anext(stream, None)
        except TimeoutError:
            failure = Failure("timeout", f"the answer stalled for {self._gap_s:g} s")
        except Exception as error:  # also what the client forgets to map: a trial must not end by a traceback
            failure = wire_failure(error, self._masks)
        raise CallFailed(failure)

    async def opening(self, limit_bytes: int) -> str:
        """The first bytes of the body as one line, for an error text; empty where they cannot be had."""
        head = b""
        with suppress(CallFailed), anyio.move_on_after(self._gap_s):
            async with aclosing(self.pieces()) as pieces:
                async for piece in pieces:
                    head += piece
                    if len(head) >= limit_bytes:
                        break
        return " ".join(head[:limit_bytes].decode("utf-8", "replace").split())

    async def close(self) -> None:
        """Gives the connection back, or closes it where the answer was not read to its end."""
        with anyio.CancelScope(shield=True):
            await self._response.aclose()
