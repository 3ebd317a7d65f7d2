"""Bytes that wait to be written to a descriptor that may not take them yet. No threads, no blocking."""

from __future__ import annotations

import os

__all__ = ["Outlet"]


class Outlet:
    """What is still to be written to one descriptor. The descriptor must be non-blocking, or `chunk` so small that a
    descriptor that is reported writable takes it whole (PIPE_BUF, 4096, for a pipe)."""

    __slots__ = ("_buffer", "_chunk", "fd", "is_broken")

    def __init__(self, fd: int, chunk: int = 1 << 20) -> None:
        self.fd = fd
        self.is_broken = False
        """The other side is gone; what is written is dropped."""
        self._buffer = bytearray()
        self._chunk = chunk

    @property
    def pending(self) -> int:
        """Bytes that wait."""
        return len(self._buffer)

    def put(self, data: bytes) -> None:
        if not self.is_broken:
            self._buffer += data

    def give_up(self) -> None:
        """Nobody reads any more."""
        self.is_broken = True
        self._buffer = bytearray()

    def flush(self) -> None:
        """Write what the descriptor takes now."""
        while self._buffer and not self.is_broken:
            with memoryview(self._buffer) as view:
                written = self._write(view[: self._chunk])
            if written is None:
                return
            del self._buffer[:written]

    def flush_once(self) -> None:
        """Write one chunk: for a descriptor that may block, after it was reported writable."""
        written = self._write(bytes(self._buffer[: self._chunk]))
        del self._buffer[: written or 0]

    def _write(self, data: memoryview | bytes) -> int | None:
        try:
            return os.write(self.fd, data)
        except BlockingIOError:
            return None
        except OSError:
            self.give_up()
            return None
