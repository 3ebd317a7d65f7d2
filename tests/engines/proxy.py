"""A wire to an engine that a test can cut, or make silent: a relay on loopback TCP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["Wire", "wire"]


class Wire:
    """Relays every connection to the Unix socket `target` until it is cut."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._is_silent = threading.Event()
        self.url = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Close every connection; there will be no other."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def fall_silent(self) -> None:
        """Every connection stays open, and nothing passes any more."""
        self._is_silent.set()

    def close(self) -> None:
        self.cut()
        for end in self._ends:
            end.close()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.socket(socket.AF_UNIX)
            far.connect(self._target)
            self._ends += [near, far]
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=_relay, args=(one, other, self._is_silent), daemon=True).start()


def _relay(source: socket.socket, target: socket.socket, is_silent: threading.Event) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            if not is_silent.is_set():
                target.sendall(data)
        if not is_silent.is_set():
            target.shutdown(socket.SHUT_WR)


@contextmanager
def wire(target: str) -> Iterator[Wire]:
    found = Wire(target)
    try:
        yield found
    finally:
        found.close()
