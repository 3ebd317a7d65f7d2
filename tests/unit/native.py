"""Runs the real `arci-init` as a plain process: helpers of its tests."""

from __future__ import annotations

import os
import resource
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


class Listener:
    """A recorder's listening socket, `kind` being `unix` or `tcp`."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind = kind
        self._listener = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
        self._listener.bind(str(directory / "recorder.sock") if kind == "unix" else ("127.0.0.1", 0))
        self._listener.listen(512)
        self._listener.settimeout(LIMIT_S)
        self._accepted: list[socket.socket] = []

    @property
    def address(self) -> str:
        name = self._listener.getsockname()
        return f"unix:{name}" if self.kind == "unix" else f"tcp:{name[0]}:{name[1]}"

    def accept(self) -> socket.socket:
        connection, _ = self._listener.accept()
        connection.settimeout(LIMIT_S)
        self._accepted.append(connection)
        return connection

    def close(self) -> None:
        for connection in self._accepted:
            connection.close()
        self._listener.close()


@contextmanager
def free_port() -> Iterator[int]:
    """A port of 127.0.0.1 on which the program may listen; it is given to nobody else meanwhile."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield int(kept.getsockname()[1])


def hello(connection: socket.socket) -> str:
    """The first line, byte by byte: what follows it is left to be read."""
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            break
        line += byte
    return line.decode().rstrip("\n")


def read_to_end(connection: socket.socket) -> bytes:
    chunks = []
    try:
        while chunk := connection.recv(1 << 16):
            chunks.append(chunk)
    except ConnectionResetError:
        pass
    return b"".join(chunks)


def cut(connection: socket.socket) -> None:
    """As if the other side had died: a reset over TCP, a hang-up over a Unix socket."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def fill(connection: socket.socket) -> int:
    """Sends until nobody takes more, which is more than any buffer of the kernel's; the number of bytes."""
    connection.setblocking(False)
    sent = 0
    while True:
        try:
            sent += connection.send(b"x" * (1 << 20))
        except BlockingIOError:
            connection.settimeout(LIMIT_S)
            return sent


def fill_pipe(descriptor: int) -> int:
    """As `fill`, for a pipe. Whoever relays it may take more later: fills again until it stays full."""
    os.set_blocking(descriptor, False)
    sent, last = 0, -1
    while last != sent:
        last = sent
        try:
            while True:
                sent += os.write(descriptor, b"x" * (1 << 16))
        except BlockingIOError:
            os.sched_yield()
    os.set_blocking(descriptor, True)
    return sent


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def need_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


@contextmanager
def started(*argv: str, stderr: int | None = None, stdin: int = subprocess.PIPE) -> Iterator[subprocess.Popen[bytes]]:
    """`arci-init` with pipes for stdin and stdout; gone, with all below it, when the context is left."""
    process = subprocess.Popen([str(init_path()), *argv], stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, bufsize=0)
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


def send_whole(process: subprocess.Popen[bytes], data: bytes) -> None:
    """As `send`, for more than a pipe takes at once."""
    assert process.stdin is not None
    view = memoryview(data)
    while view:
        view = view[process.stdin.write(view) :]


@contextmanager
def said_before(data: bytes, *, ends: bool = False) -> Iterator[int]:
    """A stdin in which `data` lies already: for a program that waits for it no longer than a short time of its own.

    Its other end stays open for as long as the context, unless it `ends`.
    """
    ours, theirs = os.pipe()
    try:
        os.write(theirs, data)
        if ends:
            os.close(theirs)
        yield ours
    finally:
        os.close(ours)
        if not ends:
            os.close(theirs)


@contextmanager
def signs_of_life(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """An owner who is heard again and again, as long as the context lasts and the program listens."""
    over = threading.Event()

    def say() -> None:
        with suppress(BrokenPipeError):
            while not over.wait(0.1):
                send(process, b"\n")

    owner = threading.Thread(target=say)
    owner.start()
    try:
        yield
    finally:
        over.set()
        owner.join(LIMIT_S)


def close_stdin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


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
        self._listener.listen(512)  # a holder tries for a second: a full backlog would measure how fast we accept
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
