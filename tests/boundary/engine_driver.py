"""Drives the engine without a socket: what goes in is said, what comes out is sorted."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arci.boundary.engine import Engine
from arci.boundary.message import (
    Ask,
    Close,
    Closed,
    Control,
    Due,
    Ended,
    Listen,
    Listening,
    ListeningStopped,
    Opened,
    Received,
    Said,
    Send,
    StopListening,
    Tell,
    Wake,
)

if TYPE_CHECKING:
    from arci.boundary.message import Action, Message

__all__ = ["Core", "begin_frame", "fault", "no_load"]

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("get", "put")]


def no_load(reference: str) -> Any:
    raise AssertionError(f"nothing is to be loaded, {reference} neither")


def fault(name: str, tool: str | None = "get", n: int = 0, **params: Any) -> dict[str, Any]:
    return {"name": name, "tool": tool, "occurrence": {"kind": "nth", "n": n}, "probability": 1.0, "params": params}


def begin_frame(
    contract: dict[str, Any] | None = None,
    budgets: dict[str, Any] | None = None,
    faults: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    return {
        "type": "begin",
        "listen": ["unix:/s"],
        "tokens": {"agent": "a", "status": "s"},
        "trial": {
            "trial_id": "c:00000:baseline",
            "seed": 7,
            "task": {"k": 1},
            "rng_state": random.Random("7:agent").getstate(),
        },
        "contract": {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}, **(contract or {})},
        "budgets": {
            "max_tool_calls": 30,
            "max_model_steps": 50,
            "tool_seconds": 30,
            "setup_seconds": 60,
            **(budgets or {}),
        },
        "faults": faults or [],
    }


class Core:
    """One engine, a clock that stands still until it is moved, and an environment that answers when told to."""

    def __init__(self, load: Callable[[str], Any] = no_load) -> None:
        self.engine = Engine(load)
        self.now_s = 100.0
        self.actions: list[Action] = []
        self.asked: list[dict[str, Any]] = []
        """Requests to the environment that were not answered yet."""
        self._next = 0
        self._calls = 0

    def handle(self, message: Message) -> list[Action]:
        actions = self.engine.handle(message, self.now_s)
        self.actions += actions
        self.asked += [json.loads(a.data) for a in actions if isinstance(a, Ask)]
        for action in actions:
            if isinstance(action, Listen):
                self.handle(Listening(action.addresses))
        return actions

    def begun(self, **begin: Any) -> Core:
        """A trial whose environment is ready."""
        self.handle(Control(begin_frame(**begin)))
        self.reply({})
        self.reply({"tools": TOOLS})
        self.reply({"state": {"first": True}})
        return self

    # The environment

    def reply(self, result: Any = None, error: Any = None) -> None:
        """Answer the oldest request."""
        self.answer(self.asked.pop(0)["id"], result, error)

    def answer(self, id: int, result: Any = None, error: Any = None) -> None:
        frame = {"result": result} if error is None else {"error": {"code": -1, "message": error}}
        self.handle(Said("tools", json.dumps({"jsonrpc": "2.0", "id": id, **frame}).encode() + b"\n"))

    def value(self, value: Any) -> None:
        """Answer the oldest request, a tool call, with a value."""
        self.reply({"structuredContent": {"result": value}, "isError": False})

    def die(self) -> None:
        self.handle(Ended("tools", "exit status 3"))

    # The agent's side

    def open(self, kind: str = "worker", token: str = "a") -> int:
        connection, self._next = self._next, self._next + 1
        self.handle(Opened(connection))
        self.send(connection, f"ARCI {kind} {token}\n".encode())
        return connection

    def send(self, connection: int, data: bytes) -> None:
        self.handle(Received(connection, data))

    def ask(self, connection: int, id: Any, method: str, **params: Any) -> None:
        self.send(
            connection, json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"
        )

    def call(self, connection: int, tool: str = "get", id: Any = None, **arguments: Any) -> None:
        """Each call has the next number as its id, from 1 on, unless it is given another."""
        self._calls += 1
        id = self._calls if id is None else id
        self.ask(connection, id, "tools/call", name=tool, arguments=arguments)

    def close(self, connection: int) -> None:
        self.handle(Closed(connection))

    # The clock

    def wakes(self) -> list[Wake]:
        return [a for a in self.actions if isinstance(a, Wake)]

    def due(self, kind: str) -> None:
        """Move the clock to the last timer of this kind."""
        wake = [w for w in self.wakes() if w.key[0] == kind][-1]
        self.now_s = max(self.now_s, wake.at_s)
        self.handle(Due(wake.key))

    # The host

    def agent_gone(self) -> None:
        if any(isinstance(a, StopListening) for a in self.handle(Control({"type": "agent_gone"}))):
            self.handle(ListeningStopped())

    # What came of it

    def sent(self, connection: int) -> list[dict[str, Any]]:
        data = b"".join(a.data for a in self.actions if isinstance(a, Send) and a.connection == connection)
        return [json.loads(line) for line in data.splitlines()]

    def last(self, connection: int) -> dict[str, Any]:
        """The last answer: its result, or its error."""
        frame = self.sent(connection)[-1]
        found: dict[str, Any] = frame["result"] if "result" in frame else frame["error"]
        return found

    def kind(self, connection: int) -> str:
        """The kind of the last answer's failure."""
        kind: str = self.last(connection)["_meta"]["arci"]["kind"]
        return kind

    def is_closed(self, connection: int) -> bool:
        return Close(connection) in self.actions

    def told(self, type: str) -> list[dict[str, Any]]:
        return [a.frame for a in self.actions if isinstance(a, Tell) and a.frame["type"] == type]

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        return [f["event"] for f in self.told("event") if not kinds or f["event"]["kind"] in kinds]

    def kinds(self) -> list[str]:
        return [e["kind"] for e in self.events()]
