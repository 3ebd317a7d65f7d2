"""What a recorder adds to a call of a model: a host that answers at once, an agent that asks, and the time between.

All of it counts as the recorder's, the scripted host's own part too.
"""

from __future__ import annotations

import base64
import json
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from bench.recorder_cpu import LAUNCH, WORLD, cpu_ms

__all__ = ["FIRST_CHUNK_MS", "MOST_MS", "added_ms"]

MOST_MS = 2.0
"""What it may add to a call whose answer is whole."""
FIRST_CHUNK_MS = 5.0
"""What it may add until the first piece of a streamed answer."""
CALLS = 300
TOKEN = "a" * 32
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 2000}]}).encode()
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "y" * 2000}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000},
}
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
EVENT = json.dumps({**CHUNK, "choices": [{"index": 0, "delta": {"content": "y"}}]})
EVENTS = [f"data: {EVENT}\n\n".encode()] * 20 + [b"data: [DONE]\n\n"]
STREAMED = json.dumps({**json.loads(BODY), "stream": True}).encode()


def added_ms() -> dict[str, float]:
    """Medians and 95th percentiles: `whole_ms` of a call, `first_chunk_ms` from the host's writing the first piece; and
    what a whole answer costs the recorder's process in CPU, which other programs on this machine do not change."""
    with _recorder() as (host, connection):
        before = cpu_ms(host.pid)
        whole = [_whole(connection) for _ in range(CALLS)]
        spent = cpu_ms(host.pid) - before
        first = [_first_chunk(host, connection) for _ in range(CALLS)]
    told = {"whole_cpu_ms": spent / CALLS}
    for name, values in (("whole", whole), ("first_chunk", first)):
        told |= {f"{name}_ms": statistics.median(values), f"{name}_p95_ms": sorted(values)[CALLS * 95 // 100]}
    return {name: round(value, 3) for name, value in told.items()}


class _Host:
    """The host's side of the control channel. `wrote_s`: when the first piece of the last answer was handed over."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self.pid = process.pid
        self.wrote_s = 0.0
        self.told: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, *frames: dict[str, Any]) -> None:
        self._stdin.write(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))
        self._stdin.flush()

    def _read(self) -> None:
        for line in self._stdout:
            frame = json.loads(line)
            if frame["type"] == "upstream_request":
                self._answer(frame)
            else:
                self.told.put(frame)

    def _answer(self, frame: dict[str, Any]) -> None:
        request = {"request": frame["request"]}
        streamed = '"stream"' in frame["body"]
        kind = "text/event-stream" if streamed else "application/json"
        pieces = EVENTS if streamed else [json.dumps(ANSWER).encode()]
        self.send({"type": "upstream_head", **request, "status": 200, "headers": [["content-type", kind]]})
        self.wrote_s = time.perf_counter()
        for piece in pieces:
            self.send({"type": "upstream_chunk", **request, "data": base64.b64encode(piece).decode()})
        self.send({"type": "upstream_end", **request})


@contextmanager
def _recorder() -> Iterator[tuple[_Host, HTTPConnection]]:
    """One that is ready, and a connection of the agent's to it."""
    with tempfile.TemporaryDirectory() as directory:
        argv = [
            sys.executable,
            "-I",
            "-S",
            str(LAUNCH),
            "recorder",
            "--toolset",
            "world:open_world",
            "--root",
            str(WORLD),
        ]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            host = _Host(process)
            host.send(_begin(Path(directory)))
            ready = host.told.get(timeout=60)
            assert ready["type"] == "ready", ready
            port = next(int(a.rpartition(":")[2]) for a in ready["listening"] if a.startswith("tcp:"))
            connection = HTTPConnection("127.0.0.1", port)
            yield host, connection
            connection.close()
            host.send({"type": "stop"})


def _ask(connection: HTTPConnection, body: bytes) -> None:
    fields = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request("POST", "/up/model/chat/completions", body, fields)


def _whole(connection: HTTPConnection) -> float:
    """Milliseconds from asking to the whole answer."""
    begun = time.perf_counter()
    _ask(connection, BODY)
    with connection.getresponse() as answer:
        body = answer.read()
    spent_ms = (time.perf_counter() - begun) * 1000
    assert answer.status == 200, body
    return spent_ms


def _first_chunk(host: _Host, connection: HTTPConnection) -> float:
    """Milliseconds from the host's first piece to the agent's."""
    _ask(connection, STREAMED)
    with connection.getresponse() as answer:
        first = answer.read1(64)
        came_s = time.perf_counter()
        assert first.startswith(b"data: "), first
        answer.read()
    return (came_s - host.wrote_s) * 1000


def _begin(directory: Path) -> dict[str, Any]:
    upstream = {"name": "model", "kind": "openai", "model": "m", "max_body_bytes": 4 << 20, "prices": {}}
    budgets = {"max_tool_calls": 10, "max_model_steps": 10, "tool_seconds": 30, "setup_seconds": 120}
    return {
        "type": "begin",
        "listen": [f"unix:{directory}/s", "tcp:127.0.0.1:0"],
        "tokens": {"agent": TOKEN, "status": "s" * 32, "environment": "e" * 32},
        "servers": [],
        "upstreams": [{**upstream, "max_decisions": None, "fixture": None}],
        "trial": {
            "trial_id": "clean:00000:baseline",
            "seed": 12000,
            "task": {"order_id": "order-7", "sku": "widget", "quantity": 2, "stock": 10},
        },
        "contract": {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}},
        "budgets": {**budgets, "max_model_calls": 2 * CALLS, "max_tokens": None, "max_usd": None},
        "faults": [],
    }


if __name__ == "__main__":
    print(json.dumps(added_ms(), indent=2))
