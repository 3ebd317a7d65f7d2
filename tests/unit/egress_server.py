"""A local upstream that speaks raw HTTP/1.1 as a test scripts it, and the recorder's side of a trial's egress."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from arci.run.egress.clock import Clock
from arci.run.egress.egress import Egress, open_egress
from arci.run.egress.trial import TrialEgress

KEY = "sk-marker-5f0c9d1e7a3b2846"
CERTIFICATE = Path(__file__).parents[1] / "data" / "localhost_test_only.pem"
"""Certificate and key of `localhost`, signed by itself, for tests alone."""


@dataclass
class Seen:
    """A request as it came."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


@dataclass
class Wire:
    """The server's end of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Until the client has closed the connection."""
        with contextlib.suppress(ConnectionError):
            await self.reader.read()


Script = Callable[[Seen, Wire], Awaitable[None]]


@dataclass
class Server:
    script: Script
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    raw: bytes = b""
    """Every byte that came."""
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (seen := await self._request(reader)) is not None:
                self.seen.append(seen)
                await self.script(seen, Wire(reader, writer))
                if writer.is_closing():
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> Seen | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            self.raw += error.partial
            return None
        line, *rest = head.decode("latin-1").split("\r\n")[:-2]
        headers = [(name.lower(), value) for name, _, value in (field.partition(": ") for field in rest)]
        length = next((int(value) for name, value in headers if name == "content-length"), 0)
        body = await reader.readexactly(length)
        self.raw += head + body
        return Seen(line, headers, body)


@asynccontextmanager
async def serving(script: Script, *, tls: bool = False) -> AsyncIterator[Server]:
    """A server on a free port of 127.0.0.1, which runs `script` for each request."""
    server = Server(script)
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
    tasks: set[asyncio.Task[Any]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        with contextlib.suppress(asyncio.CancelledError):  # asyncio would log it: the end of the test is no error
            await server.serve(reader, writer)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def http(status: int, body: bytes = b"", **headers: str) -> bytes:
    """A whole answer; `retry_after` is written `retry-after`."""
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def always(data: bytes) -> Script:
    async def script(seen: Seen, wire: Wire) -> None:
        await wire.send(data)

    return script


def in_turn(*answers: bytes) -> Script:
    """One answer after the other, the last for all that follow."""
    left = list(answers)

    async def script(seen: Seen, wire: Wire) -> None:
        await wire.send(left.pop(0) if len(left) > 1 else left[0])

    return script


class FakeTime:
    """A clock that only sleeping moves, and that remembers for how long."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await anyio.lowlevel.checkpoint()
        self.now_s += seconds

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.now_s, lambda: self.now_s, self.sleep)


def model(port: int, **changes: Any) -> dict[str, Any]:
    """An entry of a manifest document's `models`."""
    entry = {
        "name": "openai",
        "kind": "openai",
        "base_url": f"http://127.0.0.1:{port}/v1",
        "key": "OPENAI_API_KEY",
        "model": None,
        "env": {"base_url": "OPENAI_BASE_URL", "key": "OPENAI_API_KEY"},
        "max_requests_per_minute": 60_000,
        "concurrency": 16,
        "request_seconds": 30.0,
        "max_body_bytes": 65536,
        "prices": {},
    }
    return entry | changes


def decisions(port: int, **changes: Any) -> dict[str, Any]:
    """A manifest document's `decisions`."""
    entry = model(port, name="decisions", key="TYPESAFE_API_KEY", base_url=f"http://127.0.0.1:{port}")
    del entry["kind"], entry["prices"]
    return entry | {"upstream": "http", "fixture": None, "max_decisions": 50} | changes


class Recorder:
    """Asks as a recorder does and keeps what it is sent."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self._news = anyio.Event()
        self._next = 0
        self.trial: TrialEgress

    async def send(self, frame: dict[str, Any]) -> None:
        self.frames.append(frame)
        self._news.set()
        self._news = anyio.Event()

    def ask(self, path: str = "/chat/completions", **changes: Any) -> int:
        """An `upstream_request`; its number."""
        number, self._next = self._next, self._next + 1
        frame = {"type": "upstream_request", "request": number, "upstream": "openai", "method": "POST", "path": path}
        frame |= {"headers": [["content-type", "application/json"]], "body": "{}"}
        self.trial.take(frame | changes)
        return number

    def cancel(self, number: int) -> None:
        self.trial.take({"type": "upstream_cancel", "request": number})

    async def until(self, is_so: Callable[[list[dict[str, Any]]], bool], number: int) -> list[dict[str, Any]]:
        """The frames of a request, once they are as wanted."""
        while not is_so(found := [frame for frame in self.frames if frame["request"] == number]):
            await self._news.wait()
        return found

    async def answer(self, number: int) -> list[dict[str, Any]]:
        """All frames of a request."""
        return await self.until(lambda found: bool(found) and _is_last(found[-1]), number)


def _is_last(frame: dict[str, Any]) -> bool:
    return frame["type"] in ("upstream_end", "upstream_failed")


def last(frames: list[dict[str, object]]) -> tuple[object, object]:
    """Type and kind of the last frame."""
    return frames[-1]["type"], frames[-1].get("kind")


def body_of(frames: list[dict[str, Any]]) -> bytes:
    return b"".join(base64.b64decode(frame["data"]) for frame in frames if frame["type"] == "upstream_chunk")


def host_env(tmp: Path, **changes: str) -> dict[str, str]:
    """A host's environment that holds the key and no configuration."""
    return {"HOME": str(tmp), "OPENAI_API_KEY": KEY, **changes}


@asynccontextmanager
async def run(
    env: Mapping[str, str],
    *models: Mapping[str, Any],
    time: FakeTime | None = None,
    budget: int = 50,
    of_decisions: Mapping[str, Any] | None = None,
) -> AsyncIterator[tuple[Egress, Recorder]]:
    """A run with one trial under way."""
    recorder = Recorder()
    clock = time.clock if time is not None else None
    async with (
        open_egress(models, of_decisions, env, max_model_calls=budget, clock=clock) as egress,
        egress.for_trial(recorder.send) as recorder.trial,
    ):
        yield egress, recorder
