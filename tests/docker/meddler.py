"""Between ARCI and a real engine: a socket whose owner answers, delays, drops or keeps what it likes, and passes the
rest on. So whole runs meet an engine that misbehaves. One request per connection, which HTTP lets a server ask for."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Meddler", "Rule", "drop", "fail", "hold", "hold_open", "late", "meddler"]

Act = Callable[["Exchange"], None]
_HEAD_BYTES = 1 << 20


@dataclass
class Rule:
    """`act` on those requests whose `METHOD path` matches, once `when()` holds: on every `every`-th, at most `times`
    times (0: always)."""

    pattern: str
    act: Act
    every: int = 1
    times: int = 0
    when: Callable[[], object] = lambda: True
    """Asked at each such request: so nobody outside must be quick enough to meddle in the middle of a run."""
    seen: int = 0
    done: int = 0

    def wants(self, line: str) -> bool:
        if not re.search(self.pattern, line) or not self.when():
            return False
        self.seen += 1
        if self.seen % self.every or (self.times and self.done >= self.times):
            return False
        self.done += 1
        return True


@dataclass
class Exchange:
    """One request: its client, its first bytes with `Connection: close` in them, and the way to the engine."""

    client: socket.socket
    first: bytes
    engine_path: str
    over: threading.Event

    def pass_on(self, *, keeps_open: bool = False) -> None:
        """Relay both ways until both are done; `keeps_open`: the client never hears of the engine's end."""
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(self.engine_path)
            engine.sendall(self.first)
            up = threading.Thread(target=_relay, args=(self.client, engine), daemon=True)
            up.start()
            _relay(engine, self.client, closes=not keeps_open)
            if keeps_open:
                self.over.wait()
            with suppress(OSError):
                self.client.shutdown(socket.SHUT_RDWR)
            up.join()


def fail(status: int, message: str) -> Act:
    """Answer so, and let the engine hear nothing of it."""

    def act(exchange: Exchange) -> None:
        body = f'{{"message": "{message}"}}'.encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n"
        exchange.client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    return act


def late(seconds: float) -> Act:
    """Pass it on, late."""

    def act(exchange: Exchange) -> None:
        exchange.over.wait(seconds)
        exchange.pass_on()

    return act


def drop(exchange: Exchange) -> None:
    """Close the connection without a word."""


def hold(exchange: Exchange) -> None:
    """Never answer, and let the engine hear nothing of it."""
    exchange.over.wait()


def hold_open(exchange: Exchange) -> None:
    """Pass it on, and never end the answer."""
    exchange.pass_on(keeps_open=True)


@dataclass
class Meddler:
    path: str
    engine_path: str
    rules: list[Rule] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: set[socket.socket] = field(default_factory=set)

    @property
    def env(self) -> dict[str, str | None]:
        return {"DOCKER_HOST": f"unix://{self.path}"}

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._exchange, args=(client,), daemon=True).start()

    def close(self) -> None:
        self._over.set()
        for client in list(self._open):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _exchange(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            self._open.add(client)
            first = b""
            while b"\r\n\r\n" not in first and len(first) < _HEAD_BYTES:
                if not (data := client.recv(65536)):
                    return
                first += data
            line = re.sub(r"/v[0-9.]+/", "/", first.split(b" HTTP/", 1)[0].decode(), count=1)
            if b"\r\nupgrade:" not in first.lower():
                first = re.sub(rb"(?im)^connection:.*\r\n", b"", first).replace(
                    b"\r\n", b"\r\nConnection: close\r\n", 1
                )
            exchange = Exchange(client, first, self.engine_path, self._over)
            with self._lock:
                act = next((rule.act for rule in self.rules if rule.wants(line)), Exchange.pass_on)
            act(exchange)
        self._open.discard(client)


def _relay(source: socket.socket, target: socket.socket, *, closes: bool = True) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        if closes:
            target.shutdown(socket.SHUT_WR)


@contextmanager
def meddler(directory: Path, engine_url: str, *rules: Rule) -> Iterator[Meddler]:
    """A socket in `directory` before the engine at `engine_url` (`unix://`)."""
    found = Meddler(str(directory / "meddler.sock"), engine_url.removeprefix("unix://"), list(rules))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(found.path)
        listener.listen(64)
        thread = threading.Thread(target=found.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield found
        finally:
            found.close()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
