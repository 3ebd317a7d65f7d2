"""Bounded capture of a guest's output: the first and the last bytes, and how many there were. Pure.

The trial runner keeps one per stream; what lies between head and tail is counted and dropped.
"""

from __future__ import annotations

__all__ = ["HEAD_BYTES", "TAIL_BYTES", "LogTail"]

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 64 * 1024


class LogTail:
    """Head and tail of one stream in bounded memory.

    `head` holds the first `head_bytes` bytes, `tail` the last `tail_bytes` of what came after the head (so the two
    never overlap), `total_bytes` the exact count of everything added. Bytes are kept as they came: no decoding.
    """

    __slots__ = ("_head", "_head_bytes", "_tail", "_tail_bytes", "total_bytes")

    def __init__(self, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        if head_bytes < 0 or tail_bytes < 0:
            raise ValueError(f"head_bytes {head_bytes}, tail_bytes {tail_bytes}: both are 0 or more")
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total_bytes += len(data)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data[max(0, len(data) - self._tail_bytes) :]
            # Cut late, so that many small pieces cost one copy per `tail_bytes` and not one each.
            if len(self._tail) > 2 * self._tail_bytes:
                self._cut_tail()

    def _cut_tail(self) -> None:
        del self._tail[: len(self._tail) - self._tail_bytes]

    @property
    def head(self) -> bytes:
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        if len(self._tail) > self._tail_bytes:
            self._cut_tail()
        return bytes(self._tail)

    @property
    def omitted_bytes(self) -> int:
        """Bytes that lie between head and tail and were dropped."""
        return self.total_bytes - len(self._head) - len(self.tail)

    def text(self) -> str:
        """Head and tail as text for people: what is no UTF-8 is replaced, what was dropped is said in its place."""
        tail = self.tail
        if not self.omitted_bytes:
            return (self._head + tail).decode("utf-8", "replace")
        gap = f"\n[... {self.omitted_bytes} bytes left out ...]\n"
        return self._head.decode("utf-8", "replace") + gap + tail.decode("utf-8", "replace")
