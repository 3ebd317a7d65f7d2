"""Newline framing: bytes cut anywhere in, whole lines out. Sans-io.

A frame ends at 0x0A alone. A CR before it, blank lines and a BOM are tolerated; U+2028 and the like are ordinary bytes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, List, Union

    Item = Union[bytes, "Oversize"]

__all__ = ["MAX_CONTROL_BYTES", "MAX_LINE_BYTES", "LineDecoder", "Oversize"]

MAX_LINE_BYTES = 8 * 1024 * 1024
"""Longest line of an agent or an environment, without its end."""
MAX_CONTROL_BYTES = 4 * MAX_LINE_BYTES
"""Longest line between ARCI's own programs: an event carries a whole frame, a tool answer its value twice."""

_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 1024
_TAIL_BYTES = 256
_MANY_LINES = 1000


class Oversize:
    """A line over the limit, reported when the limit is passed; the rest of it is dropped.

    A decoder that `keeps_tail` reports it again, with its tail, when it has ended after all.
    """

    __slots__ = ("head", "limit_bytes", "sha256", "tail")

    def __init__(self, head: bytes, limit_bytes: int, tail: bytes = b"", sha256: str = "") -> None:
        self.head = head  # its first KiB
        self.limit_bytes = limit_bytes
        self.sha256 = sha256  # of its first `limit_bytes` bytes, however it was cut
        self.tail = tail  # its last 256 bytes, without line end; b"" as long as it has not ended

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Oversize) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        return f"Oversize({self.head[:40]!r}..., {self.limit_bytes}, {self.tail!r})"

    def _content(self) -> object:
        return self.head, self.limit_bytes, self.tail


class LineDecoder:
    """Cuts a stream into lines. Holds at most `limit_bytes` of an unfinished line."""

    __slots__ = ("_buffer", "_cut", "_head", "_keeps_tail", "_limit", "_sha256", "boms", "discarded", "overrun")

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES, *, keeps_tail: bool = False) -> None:
        self._limit = limit_bytes
        self._buffer = bytearray()
        self._cut = False
        self._head, self._sha256 = b"", ""  # of the oversize line under way
        self._keeps_tail = keeps_tail
        self.boms = 0
        """Byte order marks removed so far."""
        self.discarded = 0
        """Bytes of oversize lines dropped so far."""
        self.overrun = 0
        """Bytes so far of the oversize line that has not ended; 0 if there is none."""

    @property
    def buffered(self) -> int:
        """Bytes held of a line that has not ended."""
        return len(self._buffer)

    def feed(self, data: bytes) -> List[Item]:
        """The lines that `data` completes, in order: without line end, BOM and blank lines."""
        return list(self.lines(data))

    def lines(self, data: bytes) -> Iterator[Item]:
        """The same one by one, so that `boms` tells of the line that was just given. Must be read to its end."""
        if data.count(b"\n") > _MANY_LINES:
            data = _without_blank_lines(data)
        start = 0
        while True:
            items: List[Item] = []
            end = data.find(b"\n", start)
            self._take(data[start:] if end < 0 else data[start:end], items)
            if end >= 0:
                self._finish(items)
            yield from items
            if end < 0:
                return
            start = end + 1

    def _take(self, piece: bytes, items: List[Item]) -> None:
        if self._cut:
            self._drop(piece)
        elif len(self._buffer) + len(piece) <= self._limit:
            self._buffer += piece
        else:
            self._cut = True
            self._head = (bytes(self._buffer[:_HEAD_BYTES]) + piece[:_HEAD_BYTES])[:_HEAD_BYTES]
            self._sha256 = _digest(bytes(self._buffer), piece[: self._limit - len(self._buffer)])
            items.append(Oversize(self._head, self._limit, sha256=self._sha256))
            self._drop(piece)

    def _drop(self, piece: bytes) -> None:
        """Keep no more of a cut line than its tail may be."""
        if not self.overrun:
            self.overrun = len(self._buffer)
            self.discarded += len(self._buffer)
        self.overrun += len(piece)
        self.discarded += len(piece)
        kept = (self._buffer[-_TAIL_BYTES:] + piece[-_TAIL_BYTES:])[-_TAIL_BYTES:] if self._keeps_tail else b""
        self._buffer = bytearray(kept)

    def _finish(self, items: List[Item]) -> None:
        line = bytes(self._buffer)
        self._buffer.clear()
        if self._cut:
            self._cut = False
            self.overrun = 0
            if self._keeps_tail:
                items.append(Oversize(self._head, self._limit, line, self._sha256))
            return
        if line.startswith(_BOM):
            self.boms += 1
            line = line[len(_BOM) :]
        if line.endswith(b"\r"):
            line = line[:-1]
        if line.strip(b" \t\r"):
            items.append(line)


def _without_blank_lines(data: bytes) -> bytes:
    """The same lines at a thousandth of the cost, should somebody send nothing but line ends."""
    data = data.replace(b"\r\n", b"\n")
    while b"\n\n" in data:
        data = data.replace(b"\n\n", b"\n")
    return data


def _digest(*pieces: bytes) -> str:
    import hashlib  # 3 ms, for what hardly any trial meets

    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()
