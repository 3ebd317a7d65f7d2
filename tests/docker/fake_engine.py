"""A scripted engine on a Unix socket: speaks enough of the Docker API for one pod, and misbehaves on demand.

Real where a real engine can show the fault; this is for faults that one cannot be made to have.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

HOLDER_ARGV = "hold"


@dataclass
class FakeContainer:
    id: str
    config: dict[str, Any]
    state: dict[str, Any] = field(
        default_factory=lambda: {
            "Status": "created",
            "Running": False,
            "ExitCode": 0,
            "OOMKilled": False,
            "StartedAt": "0001-01-01T00:00:00Z",
            "Error": "",
        }
    )
    stream: socket.socket | None = None
    killed: threading.Event = field(default_factory=threading.Event)

    @property
    def role(self) -> str:
        return str(self.config.get("Labels", {}).get("dev.arci.role", ""))

    def write(self, data: bytes, stream: int = 1) -> None:
        assert self.stream is not None
        with suppress(OSError):
            self.stream.sendall(bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data)

    def read_line(self) -> bytes:
        assert self.stream is not None
        line = b""
        with suppress(OSError):
            while not line.endswith(b"\n"):
                byte = self.stream.recv(1)
                if not byte:
                    break
                line += byte
        return line

    def end(self, code: int, *, oom: bool = False, close: bool = True) -> None:
        self.state.update(Status="exited", Running=False, ExitCode=code, OOMKilled=oom)
        if close and self.stream is not None:
            with suppress(OSError):
                self.stream.shutdown(socket.SHUT_RDWR)


def hold(container: FakeContainer) -> None:
    """What a holder does: `ready`, then `ok` for each target, until its stdin ends."""
    container.write(b"ready\n")
    while container.read_line():
        container.write(b"ok\n")
    container.end(0)


@dataclass
class FakeEngine:
    """`behave` runs in a thread for each container that is no holder; `answers` come before anything else."""

    path: str
    behave: Callable[[FakeContainer], None]
    answers: list[tuple[str, int, bytes]] = field(default_factory=list)
    """(pattern of `METHOD path`, status, body): each is used once, in order of match."""
    before_start: Callable[[FakeContainer], None] = lambda container: None
    only_unversioned_ping: bool = False
    containers: dict[str, FakeContainer] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    volumes: set[str] = field(default_factory=set)
    _open: list[socket.socket] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _dead: bool = False

    def die(self) -> None:
        """Close every socket and answer nothing any more, as an engine that was killed."""
        self._dead = True
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._connection, args=(connection,), daemon=True).start()

    def _connection(self, connection: socket.socket) -> None:
        file = connection.makefile("rb")
        with suppress(OSError, ValueError):
            while not self._dead:
                request = file.readline().decode()
                if not request:
                    return
                headers = {}
                while (line := file.readline().decode().strip()) != "":
                    name, _, value = line.partition(":")
                    headers[name.lower()] = value.strip()
                body = file.read(int(headers.get("content-length", 0)))
                method, target, _ = request.split(" ", 2)
                if self._answer(connection, method, unquote(target), body) == "hijacked":
                    return

    def _answer(self, connection: socket.socket, method: str, target: str, body: bytes) -> str:
        path = target.partition("?")[0]
        versioned = re.match(r"/v[0-9.]+", path)
        bare = path[versioned.end() :] if versioned else path
        with self._lock:
            self.requests.append(f"{method} {bare}")
            for index, (pattern, status, answer) in enumerate(self.answers):
                if re.search(pattern, f"{method} {bare}"):
                    del self.answers[index]
                    _send(connection, status, answer)
                    return ""
        if bare == "/_ping":
            if versioned and self.only_unversioned_ping:
                return _send(connection, 404, b'{"message":"page not found"}')
            return _send(connection, 200, b"OK", extra="API-Version: 1.41\r\n")
        return self._route(connection, method, bare, target, body)

    def _route(self, connection: socket.socket, method: str, bare: str, target: str, body: bytes) -> str:
        if bare == "/version":
            return _json(connection, 200, {"ApiVersion": "1.41", "MinAPIVersion": "1.12", "Version": "20.10.24"})
        if bare == "/info":
            return _json(
                connection, 200, {"SystemTime": "2026-01-01T00:00:00.123456789Z", "MemTotal": 8 << 30, "Name": "fake"}
            )
        if bare == "/volumes/create":
            self.volumes.add(json.loads(body)["Name"])
            return _json(connection, 201, {"Name": json.loads(body)["Name"]})
        if method == "DELETE" and bare.startswith("/volumes/"):
            self.volumes.discard(bare.rpartition("/")[2])
            return _send(connection, 204, b"")
        if bare == "/containers/create":
            container = FakeContainer(f"{len(self.containers) + 1:064x}", json.loads(body))
            self.containers[container.id] = container
            return _json(connection, 201, {"Id": container.id, "Warnings": []})
        match = re.fullmatch(r"/containers/([0-9a-f]+)(?:/(\w+))?", bare)
        container = self.containers.get(match.group(1)) if match else None
        if match is None or container is None:
            return _json(connection, 404, {"message": f"no such thing: {bare}"})
        return self._container(connection, method, match.group(2) or "", container)

    def _container(self, connection: socket.socket, method: str, verb: str, container: FakeContainer) -> str:
        if verb == "attach":
            connection.sendall(
                b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
            )
            container.stream = connection
            return "hijacked"
        if verb == "start":
            self.before_start(container)
            container.state.update(Status="running", Running=True, StartedAt="2026-01-01T00:00:00Z")
            run = hold if HOLDER_ARGV in container.config["Cmd"] else self.behave
            threading.Thread(target=run, args=(container,), daemon=True).start()
            return _send(connection, 204, b"")
        if verb == "json":
            return _json(connection, 200, {"Id": container.id, "State": container.state})
        if verb == "kill":
            if not container.state["Running"]:
                return _json(connection, 409, {"message": "is not running"})
            container.killed.set()
            container.end(137)
            return _send(connection, 204, b"")
        if method == "DELETE":
            container.end(container.state["ExitCode"] or 137)
            del self.containers[container.id]
            return _send(connection, 204, b"")
        return _json(connection, 404, {"message": verb})


def _send(connection: socket.socket, status: int, body: bytes, *, extra: str = "") -> str:
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n{extra}\r\n"
    connection.sendall(head.encode() + body)
    return ""


def _json(connection: socket.socket, status: int, value: Any) -> str:
    return _send(connection, status, json.dumps(value).encode())


@contextmanager
def fake_engine(directory: Path, behave: Callable[[FakeContainer], None]) -> Iterator[FakeEngine]:
    """A fake engine listening in `directory` until the context is left."""
    path = directory / "engine.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    engine = FakeEngine(str(path), behave)
    thread = threading.Thread(target=engine.serve, args=(listener,), daemon=True)
    thread.start()
    try:
        yield engine
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        engine.die()
        thread.join(5)
