"""One connection to an engine: non-blocking reads and writes on its socket, TLS or not."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

__all__ = ["Connection"]

_READ_BYTES = 256 * 1024
_AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Connection:
    """Owns a connected socket: that of calls, or of a container's attached streams."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._socket.setblocking(False)
        self._ahead = b""
        self._sending = anyio.Lock()
        self._closed = False

    async def receive(self) -> bytes:
        """The next bytes, or b"" at the end; a connection that breaks is an end too (`wait` tells the rest)."""
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        while not self._closed:
            try:
                return self._socket.recv(_READ_BYTES)
            except _AGAIN:
                await self._until(anyio.wait_readable)
            except (OSError, ValueError):
                return b""
        return b""

    def put_back(self, data: bytes) -> None:
        """Received, but meant for who receives next."""
        self._ahead = data + self._ahead

    async def send(self, data: bytes) -> None:
        """All of `data`; dropped silently once the container or the connection is gone."""
        async with self._sending:
            view = memoryview(data)
            while view and not self._closed:
                try:
                    view = view[self._socket.send(view) :]
                except ssl.SSLWantReadError:
                    await self._until(anyio.wait_readable)
                except _AGAIN:
                    await self._until(anyio.wait_writable)
                except (OSError, ValueError):
                    return

    @property
    def is_sending(self) -> bool:
        """True while bytes wait to be taken."""
        return self._sending.locked()

    @property
    def is_quiet(self) -> bool:
        """True while it is open and the other side has sent nothing, nor closed it, that was not received."""
        if self._closed or self._ahead:
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Give the socket back; a container whose stdin this was sees its end of file. Idempotent."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError, ValueError, RuntimeError):  # without an event loop nobody waits for it
            anyio.notify_closing(self._socket)
        with suppress(OSError, ValueError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError, ValueError):
            self._socket.close()

    async def _until(self, ready: Callable[[socket.socket], Awaitable[None]]) -> None:
        with suppress(OSError, ValueError, anyio.ClosedResourceError):  # closed meanwhile: the loop sees `_closed`
            await ready(self._socket)
