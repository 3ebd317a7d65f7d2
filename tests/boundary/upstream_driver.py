"""Drives the engine's upstreams without a socket: an agent over HTTP, a host that answers when the test says so."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine_driver import Core, begin_frame

from arci.boundary.engine import Engine
from arci.boundary.message import Control, EndOutput, HalfClosed, Opened, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "ANTHROPIC",
    "CHAT",
    "DECISION",
    "MESSAGES",
    "OPENAI",
    "SYSTEMONE",
    "Answer",
    "Pod",
    "body_of",
    "model_fault",
]

DATA = Path(__file__).parents[1] / "data" / "models"
OPENAI: dict[str, Any] = {"name": "openai", "kind": "openai", "model": None, "max_body_bytes": 4194304, "prices": {}}
ANTHROPIC: dict[str, Any] = {**OPENAI, "name": "anthropic", "kind": "anthropic"}
SYSTEMONE: dict[str, Any] = {
    "name": "decisions",
    "kind": "systemone",
    "model": "jev-1",
    "max_body_bytes": 262144,
    "prices": {},
    "max_decisions": 50,
    "fixture": None,
}
CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
MESSAGES = {"model": "claude-sonnet-4", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}
DECISION = {
    "model": "jev-1",
    "state": {"ticket": "charged twice"},
    "questions": {
        "urgent": {"type": "noul", "instructions": "Is it?"},
        "team": {"type": "choice", "instructions": "Which?", "criteria": {"billing": "b", "tech": None, "sales": "s"}},
        "anger": {"type": "score", "instructions": "How?", "criteria": ["calm", "cross", "furious"]},
    },
}


def body_of(name: str) -> bytes:
    return (DATA / name).read_bytes()


def model_fault(name: str, n: int = 0, tool: str | None = None, kind: str = "nth", **params: Any) -> dict[str, Any]:
    occurrence = {"kind": kind} if kind == "every" else {"kind": kind, "n": n}
    return {"name": name, "tool": tool, "occurrence": occurrence, "probability": 1.0, "params": params}


class Answer:
    """One response as a client reads it; `is_whole` if it came to its end."""

    def __init__(self, status: int, fields: dict[str, str], body: bytes, is_whole: bool) -> None:
        self.status, self.fields, self.body, self.is_whole = status, fields, body, is_whole

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Pod(Core):
    """An engine whose trial has begun and whose environment is ready."""

    def __init__(self, *upstreams: dict[str, Any], fixture: Callable[[str], Any] | None = None, **begin: Any) -> None:
        super().__init__()
        self.engine = Engine(self.engine._load, fixture_argv=fixture)
        rehearsal = begin.pop("rehearsal", False)
        frame = {**begin_frame(**begin), "upstreams": list(upstreams or (OPENAI,)), "rehearsal": rehearsal}
        self.handle(Control(frame))
        self.reply({})
        self.reply({"tools": []})
        self.reply({"state": {}})

    # The agent

    def connect(self) -> int:
        connection, self._next = self._next, self._next + 1
        self.handle(Opened(connection))
        return connection

    def post(
        self,
        body: Any = CHAT,
        path: str = "/up/openai/chat/completions",
        method: str = "POST",
        connection: int | None = None,
        version: str = "1.1",
        length: bool = True,
        **fields: str,
    ) -> int:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"Authorization": "Bearer a"} | fields
        lines = [f"{method} {path} HTTP/{version}", "Host: 127.0.0.1:9"]
        lines += [f"Content-Length: {len(data)}"] if length else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value]
        connection = self.connect() if connection is None else connection
        self.send(connection, "\r\n".join([*lines, "\r\n"]).encode() + data)
        return connection

    def half_close(self, connection: int) -> None:
        self.handle(HalfClosed(connection))

    # The host

    def host(self, type: str, request: int = 0, **fields: Any) -> None:
        self.handle(Control({"type": type, "request": request, **fields}))

    def head(self, request: int = 0, status: int = 200, type: str = "application/json", **more: str) -> None:
        headers = [["content-type", type], *([name.replace("_", "-"), value] for name, value in more.items())]
        self.host("upstream_head", request, status=status, headers=headers)

    def chunks(self, *pieces: bytes, request: int = 0) -> None:
        for piece in pieces:
            self.host("upstream_chunk", request, data=base64.b64encode(piece).decode())

    def gives(self, body: bytes, request: int = 0, status: int = 200, cuts: Sequence[int] = ()) -> None:
        """A whole answer; a stream where `body` is one."""
        is_stream = body.startswith((b"data:", b"event:"))
        self.head(request, status, "text/event-stream; charset=utf-8" if is_stream else "application/json")
        places = [0, *cuts, len(body)]
        self.chunks(*(body[a:b] for a, b in pairwise(places)), request=request)
        self.host("upstream_end", request)

    # What came of it

    def written(self, connection: int) -> bytes:
        return b"".join(a.data for a in self.actions if isinstance(a, Send) and a.connection == connection)

    def all_got(self, connection: int) -> list[Answer]:
        data, found = self.written(connection), []
        while data:
            head, _, data = data.partition(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body, data, is_whole = _body(fields, data)
            found.append(Answer(int(first.split(" ")[1]), fields, body, is_whole))
        return found

    def got(self, connection: int) -> Answer:
        (answer,) = self.all_got(connection)
        return answer

    def has_ended_output(self, connection: int) -> bool:
        return EndOutput(connection) in self.actions

    @property
    def finish(self) -> dict[str, Any]:
        """The last `model_finish`."""
        return self.events("model_finish")[-1]


def _body(fields: dict[str, str], data: bytes) -> tuple[bytes, bytes, bool]:
    if fields.get("transfer-encoding") != "chunked":
        length = int(fields.get("content-length", len(data)))
        return data[:length], data[length:], len(data) >= length
    body = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        count = int(size, 16)
        if count == 0:
            return body, rest[2:], True
        body, data = body + rest[:count], rest[count + 2 :]
    return body, b"", False
