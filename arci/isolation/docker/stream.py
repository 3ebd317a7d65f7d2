"""One attached connection to a container: non-blocking reads and writes on the engine's raw socket, TLS or not."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio

__all__ = ["AttachedStream"]

_READ_BYTES = 256 * 1024
_AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class AttachedStream:
    """Owns the raw socket of an attach answer and whatever keeps that socket alive."""

    def __init__(self, attached: Any) -> None:
        self._keep = attached  # the HTTP answer must outlive its socket
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        # Over TLS the library hands out the socket itself, which stays open for as long as its answer's file does.
        self._answer: Any = getattr(attached, "_response", None)
        self._socket.setblocking(False)
        self._sending = anyio.Lock()
        self._closed = False

    async def receive(self) -> bytes:
        """The next bytes, or b"" at the end; a connection that breaks is an end too (`wait` tells the rest)."""
        while not self._closed:
            try:
                return self._socket.recv(_READ_BYTES)
            except _AGAIN:
                await self._until(anyio.wait_readable)
            except (OSError, ValueError):
                return b""
        return b""

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

    def close(self) -> None:
        """Give the socket back; a container whose stdin this was sees its end of file. Idempotent."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError, ValueError):
            anyio.notify_closing(self._socket)
        with suppress(OSError, ValueError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with suppress(OSError, ValueError):
            self._socket.close()
        for owner in (self._keep, self._answer):
            with suppress(Exception):  # the client's own objects: nothing that they say at this point matters
                owner.close()

    async def _until(self, ready: Callable[[socket.socket], Awaitable[None]]) -> None:
        with suppress(OSError, ValueError, anyio.ClosedResourceError):  # closed meanwhile: the loop sees `_closed`
            await ready(self._socket)
