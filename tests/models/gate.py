"""A provider that a test holds in its hand: each call waits until it is let through, and what it was sent is kept.

It answers with what it was sent as authorisation: some do, in error texts and debug headers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

__all__ = ["MODEL", "Gate", "gate"]

MODEL = "gate-1"
_HANGS_S = 900.0


class Gate(ThreadingHTTPServer):
    """`base_url` as a descriptor has it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.authorisations: list[str] = []
        """Of each call, as it came."""
        self.opened = Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def calls(self) -> int:
        """Calls that reached it, answered or not."""
        return len(self.authorisations)

    def open(self) -> None:
        """Lets everything through from now on."""
        self.opened.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gate

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers.get("Authorization", "")
        self.server.authorisations.append(key)
        self.server.opened.wait(_HANGS_S)
        data = json.dumps(_completion(f"You are {key}.")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Request-Id", key)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def _completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-gate",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9},
    }


@contextmanager
def gate(*, is_open: bool = False) -> Iterator[Gate]:
    """One that serves, shut until it is opened."""
    with Gate() as made:
        if is_open:
            made.open()
        Thread(target=made.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            made.open()
            made.shutdown()
