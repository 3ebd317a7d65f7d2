"""Models as manifests hold them, the frames and events of one call, and an egress that a test scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from arci.run.egress.failure import Failure

__all__ = ["ScriptedEgress", "asks", "called", "decisions", "model"]


def model(name: str = "openai", **changes: Any) -> dict[str, Any]:
    """An entry of a manifest document's `models`, on this machine and without a key."""
    entry = {
        "name": name,
        "kind": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "key": None,
        "model": "gpt-x",
        "env": {"base_url": "OPENAI_BASE_URL", "key": "OPENAI_API_KEY"},
        "max_requests_per_minute": 600,
        "concurrency": 16,
        "request_seconds": 60.0,
        "max_body_bytes": 4096,
        "prices": {"*": {"input": 1.0, "output": 2.0, "cached_input": 0.5}},
    }
    return {**entry, **changes}


def decisions(**changes: Any) -> dict[str, Any]:
    """A manifest document's `decisions`, answered by a fixture."""
    entry = {
        "name": "decisions",
        "upstream": "fixture",
        "fixture": "world:decide",
        "base_url": "https://api.typesafe.ai",
        "key": None,
        "model": "jev",
        "env": {"base_url": "TYPESAFE_BASE_URL", "key": "TYPESAFE_API_KEY"},
        "max_decisions": 5,
        "request_seconds": 5.0,
        "max_body_bytes": 4096,
        "max_requests_per_minute": 600,
        "concurrency": 16,
    }
    return {**entry, **changes}


def asks(number: int = 0, **changes: Any) -> dict[str, Any]:
    """An `upstream_request` of a recorder."""
    frame = {"type": "upstream_request", "request": number, "upstream": "openai", "method": "POST"}
    return {**frame, "path": "/chat/completions", "headers": [], "body": "{}", **changes}


def called(number: int = 0, upstream: str = "openai", **changes: Any) -> list[dict[str, Any]]:
    """The two events of a call that a model answered after 2 s."""
    call = {"upstream": upstream, "call_id": f"m{number}", "occurrence": number}
    start = {"kind": "model_start", **call, "path": "/chat/completions", "model": "gpt-x", "at_s": 1.0 + number}
    finish = {
        "kind": "model_finish",
        **call,
        "ok": True,
        "error_kind": None,
        "injected_by": None,
        "model": "gpt-x",
        "text": "hello",
        "tool_calls": [],
        "usage": {"input_tokens": 10, "output_tokens": 5, "cached_input_tokens": 2},
        "cost_usd": 0.000021,
        "executed": True,
        "at_s": 3.0 + number,
    }
    return [start, {**finish, **changes}]


@dataclass
class ScriptedEgress:
    """Each request is answered by the frames that `answer` makes of it; `failure` is noted before."""

    answer: Callable[[Mapping[str, Any]], list[dict[str, Any]]] = lambda frame: [
        {"type": "upstream_end", "request": frame["request"]}
    ]
    failure: Failure | None = None
    paused: Callable[[], float] = float
    """What `waited_s` says."""
    taken: list[Mapping[str, Any]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    is_open: bool = False

    @property
    def waited_s(self) -> float:
        return self.paused()

    @asynccontextmanager
    async def for_trial(self, send: Callable[[dict[str, Any]], Any]) -> AsyncIterator[ScriptedEgress]:
        from arci.isolation.groups import task_group

        self.is_open = True
        async with task_group() as self._tasks:
            self._send = send
            yield self
            self._tasks.cancel_scope.cancel()
        self.is_open = False

    def take(self, frame: Mapping[str, Any]) -> None:
        assert self.is_open
        self.taken.append(frame)
        if frame["type"] == "upstream_request":
            self._tasks.start_soon(self._serve, frame)

    async def _serve(self, frame: Mapping[str, Any]) -> None:
        if self.failure is not None:
            self.failures.append(self.failure)
        for answer in self.answer(frame):
            await self._send(answer)
