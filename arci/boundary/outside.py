"""Requests that the host makes for the agent: numbered, answered by frames as they come. Sans-io."""

from __future__ import annotations

from binascii import a2b_base64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Protocol, Tuple

    from arci.boundary.journal import Journal

    class Hears(Protocol):
        """Who is told of an answer: `failed` at any point, else `head`, any number of `chunk`, `end`."""

        def head(self, status: int, headers: List[Tuple[str, str]]) -> None: ...
        def chunk(self, data: bytes) -> None: ...
        def end(self) -> None: ...
        def failed(self, kind: str, detail: str) -> None: ...


__all__ = ["Outside"]


class Outside:
    """All requests under way."""

    def __init__(self, journal: Journal, count_bytes: Callable[[int], None]) -> None:
        self._journal = journal
        self._count_bytes = count_bytes
        self._next = 0
        self._open: Dict[int, Hears] = {}

    def ask(
        self, upstream: str, method: str, path: str, headers: List[Tuple[str, str]], body: str, hears: Hears
    ) -> int:
        """Its number. `path` is below the upstream's base URL, with the query."""
        number, self._next = self._next, self._next + 1
        self._open[number] = hears
        pairs = [[name, value] for name, value in headers]
        asked: Dict[str, Any] = {"upstream": upstream, "method": method, "path": path, "headers": pairs, "body": body}
        self._journal.tell("upstream_request", request=number, **asked)
        return number

    def cancel(self, number: int) -> None:
        """Nobody waits for it any more; one that is over is not cancelled."""
        if self._open.pop(number, None) is not None:
            self._journal.tell("upstream_cancel", request=number)

    def take(self, frame: Dict[str, Any]) -> None:
        """A frame of the host. One for a request that is over, or was cancelled, comes too late and does nothing."""
        hears = self._open.get(frame.get("request", -1))
        if hears is None:
            return
        try:
            self._hear(hears, frame)
        except (KeyError, TypeError, ValueError) as error:
            detail = f"{frame['type']}: {type(error).__name__}: {error}"
            self._journal.trouble("harness", detail)

    def _hear(self, hears: Hears, frame: Dict[str, Any]) -> None:
        kind = frame["type"]
        if kind == "upstream_head":
            hears.head(int(frame["status"]), [(str(name), str(value)) for name, value in frame["headers"]])
        elif kind == "upstream_chunk":
            data = a2b_base64(frame["data"])
            self._count_bytes(len(data))
            hears.chunk(data)
        else:
            del self._open[frame["request"]]
            if kind == "upstream_end":
                hears.end()
            else:
                hears.failed(str(frame["kind"]), str(frame["detail"]))
