"""A scripted engine on a Unix socket: speaks enough of the Docker API for runs and pods, and misbehaves on demand.

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
from urllib.parse import parse_qs, unquote

from fake_container import CLOCK, IMAGE_ID, LAYERS, Behaviour, FakeContainer, behaviour, sleep

VERSION = {"ApiVersion": "1.41", "MinAPIVersion": "1.12", "Version": "20.10.24", "Os": "linux", "Arch": "amd64"}


@dataclass
class FakeEngine:
    """`behave` runs in a thread for each container that is neither a holder nor the preflight's."""

    path: str
    behave: Behaviour = sleep
    answers: list[tuple[str, int, str]] = field(default_factory=list)
    """(pattern of `METHOD path`, status, message): each is used once, in order of match, before anything else."""
    hangs: set[str] = field(default_factory=set)
    """Patterns of requests that are read and never answered."""
    stalls: set[str] = field(default_factory=set)
    """Patterns of requests whose answer stops in the middle."""
    dribbles: set[str] = field(default_factory=set)
    """Patterns of requests whose answer never ends, a byte at a time."""
    loses: set[str] = field(default_factory=set)
    """Patterns of requests that are obeyed and whose answer never comes."""
    answers_only: int | None = None
    """So many requests are answered, then it is mute: it reads the others and never answers."""
    before: Callable[[str, FakeContainer], None] = lambda request, container: None
    """Called with `METHOD verb` before a container's request is obeyed; may block."""
    on_kill: Callable[[FakeContainer, str], None] = lambda container, signal: container.end(
        143 if signal == "SIGTERM" else 137
    )
    closes_streams: bool = True
    only_unversioned_ping: bool = False
    ping_headers: str = "API-Version: 1.41\r\n"
    containers: dict[str, FakeContainer] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    volumes: dict[str, dict[str, Any]] = field(default_factory=dict)
    _made: int = 0
    _open: list[socket.socket] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _listener: socket.socket = field(default_factory=lambda: socket.socket(socket.AF_UNIX))
    _over: threading.Event = field(default_factory=threading.Event)

    @property
    def there(self) -> list[FakeContainer]:
        """Its containers of this moment: each connection has a thread, which may make or remove one at any time."""
        return list(self.containers.values())

    def of_role(self, role: str) -> list[FakeContainer]:
        return [container for container in self.there if container.role == role]

    def die(self) -> None:
        """Close every socket, and each new one at once, as an engine that is being killed."""
        self._over.set()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._connection, args=(connection,), daemon=True).start()

    def close(self) -> None:
        self.die()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _connection(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection.makefile("rb") as file:
            while not self._over.is_set():
                request = file.readline().decode()
                if not request:
                    break
                length = 0
                while (line := file.readline().decode().strip().lower()) != "":
                    if line.startswith("content-length:"):
                        length = int(line.partition(":")[2])
                method, target, _ = request.split(" ", 2)
                if self._obey(connection, method, target, file.read(length)) == "hijacked":
                    return
        connection.close()

    def _obey(self, connection: socket.socket, method: str, target: str, body: bytes) -> str:
        path, _, query = target.partition("?")
        path = unquote(path)
        versioned = re.match(r"/v[0-9.]+", path)
        bare = path[versioned.end() :] if versioned else path
        request = f"{method} {bare}"
        with self._lock:
            self.requests.append(request)
            if self.answers_only is not None and len(self.requests) > self.answers_only:
                return "hijacked"
            for index, (pattern, status, message) in enumerate(self.answers):
                if re.search(pattern, request):
                    del self.answers[index]
                    return _json(connection, status, {"message": message})
        if way := self._misbehave(connection, request, method, bare, query, body):
            return way
        if bare == "/_ping":
            if versioned and self.only_unversioned_ping:
                return _json(connection, 404, {"message": "page not found"})
            return _send(connection, 200, b"OK", extra=self.ping_headers)
        return self._route(connection, method, bare, query, body)

    def _misbehave(
        self, connection: socket.socket, request: str, method: str, bare: str, query: str, body: bytes
    ) -> str:
        def asked_to(patterns: set[str]) -> bool:
            return any(re.search(pattern, request) for pattern in tuple(patterns))

        if asked_to(self.loses):
            deaf, ours = socket.socketpair()
            with deaf, ours:
                self._route(ours, method, bare, query, body)
        elif asked_to(self.stalls):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        elif asked_to(self.dribbles):
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while not self._over.wait(0.01):
                connection.sendall(b"1\r\n \r\n")
        elif not asked_to(self.hangs):
            return ""
        return "hijacked"

    def _route(self, connection: socket.socket, method: str, bare: str, query: str, body: bytes) -> str:
        if bare == "/version":
            return _json(connection, 200, VERSION)
        if bare == "/info":
            return _json(
                connection,
                200,
                {"SystemTime": CLOCK.replace("Z", ".123456789Z"), "MemTotal": 64 << 30, "Name": "fake"},
            )
        if bare.startswith("/images/"):
            name = bare.removeprefix("/images/").removesuffix("/json")
            image = {"Id": IMAGE_ID, "RepoTags": [name, f"{name}-0a"], "RootFS": {"Layers": LAYERS}, "Config": {}}
            return _json(connection, 200, image)
        if bare.startswith("/volumes"):
            return self._volume(connection, method, bare.removeprefix("/volumes").strip("/"), body)
        if bare == "/containers/json":
            return _json(connection, 200, [container.row for container in self.there])
        if bare == "/containers/create":
            return self._create(connection, parse_qs(query).get("name", [""])[0], json.loads(body))
        match = re.fullmatch(r"/containers/([^/]+)(?:/(\w+))?", bare)
        container = self._find(match.group(1)) if match else None
        if match is None or container is None:
            return _json(connection, 404, {"message": f"no such thing: {bare}"})
        verb = match.group(2) or ""
        self.before(f"{method} {verb}", container)
        return self._container(connection, method, verb, query, container)

    def _find(self, key: str) -> FakeContainer | None:
        return next((c for c in self.there if key in (c.id, c.name)), None)

    def _volume(self, connection: socket.socket, method: str, name: str, body: bytes) -> str:
        if name == "create":
            made = json.loads(body)
            self.volumes[made["Name"]] = {"Name": made["Name"], "Labels": made.get("Labels"), "CreatedAt": CLOCK}
            return _json(connection, 201, self.volumes[made["Name"]])
        if name == "":
            return _json(connection, 200, {"Volumes": list(self.volumes.values())})
        if method == "GET":  # the runtime's, always there
            return _json(connection, 200, {"Name": name, "Labels": {"dev.arci.kind": "runtime"}})
        if any(name == m["Source"] for c in self.there for m in c.config["HostConfig"]["Mounts"]):
            return _json(connection, 409, {"message": f"remove {name}: volume is in use"})
        self.volumes.pop(name, None)
        return _send(connection, 204, b"")

    def _create(self, connection: socket.socket, name: str, config: dict[str, Any]) -> str:
        with self._lock:
            self._made += 1
            container = FakeContainer(f"{self._made:064x}", name, config, closes=self.closes_streams)
            self.containers[container.id] = container
        return _json(connection, 201, {"Id": container.id, "Warnings": []})

    def _container(
        self, connection: socket.socket, method: str, verb: str, query: str, container: FakeContainer
    ) -> str:
        if verb == "attach":
            container.stream = connection  # before the answer: a start may follow it at once
            connection.sendall(
                b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
            )
            return "hijacked"
        if verb == "start":
            container.state.update(Status="running", Running=True, StartedAt=CLOCK)
            threading.Thread(target=behaviour(container, self.behave), args=(container,), daemon=True).start()
            return _send(connection, 204, b"")
        if verb == "json":
            return _json(connection, 200, {"Id": container.id, "State": container.state})
        if verb == "kill":
            if not container.state["Running"]:
                return _json(connection, 409, {"message": "is not running"})
            container.killed.set()
            self.on_kill(container, parse_qs(query)["signal"][0])
            return _send(connection, 204, b"")
        if method == "DELETE":
            del self.containers[container.id]
            container.end(container.state["ExitCode"] or 137)
            return _send(connection, 204, b"")
        return _json(connection, 404, {"message": verb})


def _send(connection: socket.socket, status: int, body: bytes, *, extra: str = "") -> str:
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nContent-Type: application/json\r\n{extra}\r\n"
    connection.sendall(head.encode() + body)
    return ""


def _json(connection: socket.socket, status: int, value: Any) -> str:
    return _send(connection, status, json.dumps(value).encode() if status != 204 else b"")


@contextmanager
def fake_engine(directory: Path, behave: Behaviour = sleep) -> Iterator[FakeEngine]:
    """A fake engine listening in `directory` until the context is left."""
    engine = FakeEngine(str(directory / "engine.sock"), behave)
    engine._listener.bind(engine.path)
    engine._listener.listen(64)
    thread = threading.Thread(target=engine.serve, daemon=True)
    thread.start()
    try:
        yield engine
    finally:
        engine.close()
        thread.join(5)
        for connection in engine._open:
            connection.close()
