"""Runs the real `arci-init` as a plain process: helpers of its tests."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import arci
from arci.isolation.process.native import find_init

LIMIT_S = 30.0


def init_path() -> Path:
    found = find_init()
    assert found is not None, f"no arci-init for this machine in {Path(arci.__file__).parent / '_native'}: make setup"
    return found


class StatusPeer:
    """A boundary's end of the status connection: collects lines until the program closes it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "status.sock"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(1)
        self._listener.settimeout(LIMIT_S)
        self._file: TextIO | None = None

    @property
    def address(self) -> str:
        return f"unix:{self.path}"

    def accept(self) -> None:
        self.connection, _ = self._listener.accept()
        self.connection.settimeout(LIMIT_S)
        self._file = self.connection.makefile("r")

    def line(self) -> str:
        assert self._file is not None
        return self._file.readline().rstrip("\n")

    def rest(self) -> list[str]:
        assert self._file is not None
        return self._file.read().splitlines()

    def hang_up(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self.connection.close()
        self._listener.close()


@contextmanager
def started(*argv: str, stderr: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """`arci-init` with pipes for stdin and stdout; gone, with all below it, when the context is left."""
    process = subprocess.Popen(
        [str(init_path()), *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=0
    )
    try:
        yield process
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait(LIMIT_S)


def send(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(data)


def read_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        byte = process.stdout.read(1)
        if not byte:
            break
        line += byte
    return line.decode().rstrip("\n")


def read_all(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.read()


def is_alive(pid: int) -> bool:
    """True for a process that still runs code: a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


class Echo:
    """A recorder's stand-in on a Unix socket: `serve` handles each connection in a thread of its own."""

    def __init__(self, path: Path, serve: object) -> None:
        self.path = path
        self._serve = serve
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        assert callable(self._serve)
        with connection:
            self._serve(connection)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
