"""Newline framing: bytes cut anywhere in, whole lines out. Sans-io.

A frame ends at 0x0A alone. A CR before it, blank lines and a BOM are tolerated; U+2028 and the like are ordinary bytes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Union

__all__ = ["MAX_CONTROL_BYTES", "MAX_LINE_BYTES", "LineDecoder", "Oversize"]

MAX_LINE_BYTES = 8 * 1024 * 1024
"""Longest line of an agent or an environment, without its end."""
MAX_CONTROL_BYTES = 4 * MAX_LINE_BYTES
"""Longest line between ARCI's own programs: an event carries a whole frame, a tool answer its value twice."""

_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 1024


class Oversize:
    """A line over the limit, reported when the limit is passed; the rest of it is dropped."""

    __slots__ = ("head", "limit_bytes")

    def __init__(self, head: bytes, limit_bytes: int) -> None:
        self.head = head  # its first KiB
        self.limit_bytes = limit_bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Oversize) and (self.head, self.limit_bytes) == (other.head, other.limit_bytes)

    def __hash__(self) -> int:
        return hash((self.head, self.limit_bytes))

    def __repr__(self) -> str:
        return f"Oversize({self.head[:40]!r}..., {self.limit_bytes})"


class LineDecoder:
    """Cuts a stream into lines. Holds at most `limit_bytes` of an unfinished line."""

    __slots__ = ("_buffer", "_cut", "_limit", "boms", "discarded")

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit = limit_bytes
        self._buffer = bytearray()
        self._cut = False
        self.boms = 0
        """Byte order marks removed so far."""
        self.discarded = 0
        """Bytes of oversize lines dropped so far."""

    @property
    def buffered(self) -> int:
        """Bytes held of a line that has not ended."""
        return len(self._buffer)

    def feed(self, data: bytes) -> List[Union[bytes, Oversize]]:
        """The lines that `data` completes, in order: without line end, BOM and blank lines."""
        items: List[Union[bytes, Oversize]] = []
        start = 0
        while True:
            end = data.find(b"\n", start)
            self._take(data[start:] if end < 0 else data[start:end], items)
            if end < 0:
                return items
            self._finish(items)
            start = end + 1

    def _take(self, piece: bytes, items: List[Union[bytes, Oversize]]) -> None:
        if self._cut:
            self.discarded += len(piece)
        elif len(self._buffer) + len(piece) <= self._limit:
            self._buffer += piece
        else:
            head = bytes(self._buffer[:_HEAD_BYTES]) + piece[:_HEAD_BYTES]
            items.append(Oversize(head[:_HEAD_BYTES], self._limit))
            self.discarded += len(self._buffer) + len(piece)
            self._buffer = bytearray()
            self._cut = True

    def _finish(self, items: List[Union[bytes, Oversize]]) -> None:
        line = bytes(self._buffer)
        self._buffer.clear()
        if self._cut:
            self._cut = False
            return
        if line.startswith(_BOM):
            self.boms += 1
            line = line[len(_BOM) :]
        if line.endswith(b"\r"):
            line = line[:-1]
        if line.strip(b" \t\r"):
            items.append(line)
