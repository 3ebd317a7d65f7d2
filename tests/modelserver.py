"""A local provider of models that is a server of the standard library, and an experiment whose agent calls it.

with provider() as server:
    ended = arci("run", asking(tmp_path, server), "--out", tmp_path / "runs", "--json")
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from e2e import descriptor, project

__all__ = ["KEY", "Provider", "asking", "completion", "deltas", "provider"]

KEY = "sk-marker-0d8c7b6a5f4e"

_FILES = {
    "world/world.py": """
        class World:
            def __init__(self):
                self.said = []
                self.tools = {"say": self.say}

            def say(self, text: str) -> str:
                self.said.append(text)
                return text

            def snapshot(self):
                return {"said": self.said}


        def open_world(task, seed):
            return World()


        def judge(task, final_state):
            return final_state["said"] == ["hello"] * task["calls"]


        def decide(request, seed, occurrence):
            return {"answers": {name: {"type": "noul", "noul": 0.75} for name in request["questions"]}}
    """,
    "agents/agent.py": """
        import json
        import os
        import urllib.error
        import urllib.request


        def post(base, path, key, body):
            headers = {"content-type": "application/json", "authorization": "Bearer " + key}
            request = urllib.request.Request(base + path, json.dumps(body).encode(), headers)
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
                return json.load(answer)


        def ask(number):
            body = {"model": "gpt-x", "messages": [{"role": "user", "content": "call %d" % number}]}
            base, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
            return post(base, "/chat/completions", key, body)["choices"][0]["message"]["content"]


        def run(task, tools, rng):
            for number in range(task["calls"]):
                tools.call("say", text=ask(number))
            return {"done": True}


        def patient(task, tools, rng):
            for number in range(task["calls"]):
                try:
                    text = ask(number)
                except urllib.error.HTTPError:
                    text = ask(number)
                tools.call("say", text=text)
            return {"done": True}


        def streaming(task, tools, rng):
            body = {"model": "gpt-x", "stream": True, "messages": [{"role": "user", "content": "stream"}]}
            headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
            url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
            request = urllib.request.Request(url, json.dumps(body).encode(), headers)
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
                lines = [answer.readline()]
                tools.call("say", text=ask(1))
                lines += answer.readlines()
            deltas = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
            tools.call("say", text="".join(d["choices"][0]["delta"].get("content", "") for d in deltas if d["choices"]))
            return {"done": True}


        def greedy(task, tools, rng):
            refused = 0
            for number in range(200):
                try:
                    ask(number)
                except urllib.error.HTTPError:
                    refused += 1
            return {"refused": refused}


        def decide(task, tools, rng):
            base, key = os.environ["TYPESAFE_BASE_URL"], os.environ["TYPESAFE_API_KEY"]
            question = {"type": "noul", "instructions": "Is it?"}
            body = {"model": "jev", "state": "hello", "questions": {"is_it": question}}
            assert post(base, "/v1/systemone", key, body)["answers"]["is_it"]["noul"] == 0.75
            for number in range(task["calls"]):
                tools.call("say", text="hello")
            return {"done": True}
    """,
}


def completion(text: str = "hello", model: str = "gpt-x") -> dict[str, Any]:
    """An answer of chat completions."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


Answer = Callable[[int, dict[str, Any]], tuple[int, Any]]
"""Number of the request, from 0, and its body -> status, and JSON or the pieces of a stream."""


def deltas(*texts: str) -> list[bytes]:
    """The events of a streamed answer, its usage in the last."""
    head = {"id": "c", "object": "chat.completion.chunk", "model": "gpt-x"}
    events: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]} for text in texts
    ]
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events.append({**head, "choices": [], "usage": completion()["usage"]})
    return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]


@dataclass
class Provider:
    answer: Answer = lambda number, body: (200, completion())
    seen: list[dict[str, Any]] = field(default_factory=list)
    """Bodies, in the order in which they came."""
    keys: set[str] = field(default_factory=set)
    port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def take(self, body: dict[str, Any], key: str) -> tuple[int, Any]:
        with self._lock:
            number = len(self.seen)
            self.seen.append(body)
            self.keys.add(key)
        return self.answer(number, body)


@contextmanager
def provider(answer: Answer | None = None) -> Iterator[Provider]:
    """On a free port of 127.0.0.1."""
    found = Provider() if answer is None else Provider(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, value = found.take(body, self.headers.get("authorization", ""))
            if isinstance(value, Iterator):
                self._stream(status, value)
            else:
                self._send(status, value)

        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": "gpt-x", "object": "model"}]})

        def _stream(self, status: int, pieces: Iterator[bytes]) -> None:
            self.send_response(status)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        def _send(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asking(directory: Path, server: Provider, *, baseline: str = "run", candidate: str = "run", **changes: Any) -> Path:
    """The descriptor of an experiment in `directory`: each agent makes two calls and says what it was answered."""
    document: dict[str, Any] = {
        "experiment_id": "asking",
        "task": {"calls": 2},
        "toolset": "world.world:open_world",
        "oracle": "world.world:judge",
        "baseline": f"agents.agent:{baseline}",
        "candidate": f"agents.agent:{candidate}",
        "n_per_arm": 2,
        "isolation": "process",
        "models": {
            "openai": {
                "kind": "openai",
                "base_url": server.base_url,
                "key": "OPENAI_API_KEY",
                "model": "gpt-x",
                "max_requests_per_minute": 100_000,
                "concurrency": 64,
                "prices": {"gpt-x": {"input": 1.0, "output": 2.0}},
            }
        },
    }
    return descriptor(project(directory, _FILES), {**document, **changes})
