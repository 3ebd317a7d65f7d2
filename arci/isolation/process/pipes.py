"""The streams of a local process on the event loop: non-blocking reads and writes, without a task or thread each."""

from __future__ import annotations

import array
import asyncio
import fcntl
import os
import termios
from collections import deque
from collections.abc import AsyncIterator

from arci.isolation.base import Chunk

__all__ = ["InputPipe", "OutputPipes"]

READ_BYTES = 64 * 1024
MOST_WAITING_BYTES = 1024 * 1024
"""Unread output held here before the guest's pipe is left to fill (then the guest blocks, as on any pipe)."""


class _Signal:
    """Wakes everything that waits; callbacks set it, coroutines wait for it."""

    __slots__ = ("_futures", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._futures: list[asyncio.Future[None]] = []

    def set(self) -> None:
        for future in self._futures:
            if not future.done():
                future.set_result(None)
        self._futures.clear()

    async def wait(self) -> None:
        future = self._loop.create_future()
        self._futures.append(future)
        await future


class InputPipe:
    """The writing end of a guest's stdin. Bytes for a guest that is gone are dropped."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        os.set_blocking(fd, False)
        self._loop = loop
        self._fd = fd
        self._queue: deque[memoryview] = deque()
        self._watched = False
        self._close_at_end = False
        self._changed = _Signal(loop)

    def write(self, data: bytes) -> None:
        """Queue `data`; as much as fits goes at once."""
        if self._fd < 0 or not data:
            return
        self._queue.append(memoryview(data))
        if not self._watched:
            self._flush()

    def _flush(self) -> None:
        try:
            while self._queue:
                written = os.write(self._fd, self._queue[0])
                if written == len(self._queue[0]):
                    self._queue.popleft()
                else:
                    self._queue[0] = self._queue[0][written:]
        except BlockingIOError:
            if not self._watched:
                self._loop.add_writer(self._fd, self._flush)
                self._watched = True
            return
        except OSError:  # EPIPE: the guest is gone or does not want it
            self._queue.clear()
        self._unwatch()
        if self._close_at_end:
            self.close()
        self._changed.set()

    def _unwatch(self) -> None:
        if self._watched:
            self._loop.remove_writer(self._fd)
            self._watched = False

    async def drained(self) -> None:
        """Until everything queued is in the pipe, or the pipe is closed."""
        while self._queue and self._fd >= 0:
            await self._changed.wait()

    def close_when_written(self) -> None:
        self._close_at_end = True
        if not self._queue:
            self.close()

    def close(self) -> None:
        if self._fd >= 0:
            self._unwatch()
            os.close(self._fd)
            self._fd = -1
            self._queue.clear()
            self._changed.set()


class OutputPipes:
    """The reading ends of a guest's stdout and stderr, handed on as one sequence of chunks."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fds: dict[int, str]) -> None:
        self._loop = loop
        self._streams = dict(fds)
        self._chunks: deque[Chunk] = deque()
        self._waiting_bytes = 0
        self._paused = False
        self._ended = False
        self._changed = _Signal(loop)
        for fd in fds:
            os.set_blocking(fd, False)
        self._watch()

    def _watch(self) -> None:
        for fd in self._streams:
            self._loop.add_reader(fd, self._readable, fd)

    def _readable(self, fd: int) -> None:
        if self._take(fd, READ_BYTES) == 0:
            self._drop(fd)
        elif self._waiting_bytes > MOST_WAITING_BYTES:
            self._paused = True
            for watched in self._streams:
                self._loop.remove_reader(watched)

    def _take(self, fd: int, most: int) -> int | None:
        """Bytes taken from `fd`; 0 at its end, None when there is nothing now."""
        try:
            data = os.read(fd, most)
        except BlockingIOError:
            return None
        except OSError:
            return 0
        if data:
            self._chunks.append(Chunk(self._streams[fd], data))
            self._waiting_bytes += len(data)
            self._changed.set()
        return len(data)

    def _drop(self, fd: int) -> None:
        self._loop.remove_reader(fd)
        os.close(fd)
        del self._streams[fd]

    def finish(self) -> None:
        """The guest has ended: take what is in the pipes now, and no more, then close them.

        What the guest wrote is in the pipe by now; reading to the end of the stream would wait for, or drown in, a
        background child that holds the other end.
        """
        for fd in list(self._streams):
            left = _readable_bytes(fd)
            while left > 0:
                taken = self._take(fd, min(left, READ_BYTES))
                if not taken:
                    break
                left -= taken
            self._drop(fd)
        self._ended = True
        self._changed.set()

    async def chunks(self) -> AsyncIterator[Chunk]:
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._waiting_bytes -= len(chunk.data)
                yield chunk
            if self._ended:
                return
            if self._paused:
                self._paused = False
                self._watch()
            await self._changed.wait()


def _readable_bytes(fd: int) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]
