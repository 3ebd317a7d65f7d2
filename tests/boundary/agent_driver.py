"""Drives the agent's side alone: clients are said, servers are scripted, what comes out is sorted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from engine_driver import begin_frame, no_load

from arci.boundary.about import About
from arci.boundary.agent_side import AgentSide
from arci.boundary.alarms import Alarms
from arci.boundary.asked import ANSWERED, LATE
from arci.boundary.journal import Journal
from arci.boundary.message import Close, EndOutput, Send, Tell, Wake
from arci.boundary.names import Names, Target
from arci.boundary.servers import Servers
from arci.boundary.terms import Terms
from arci.faults.plan import FaultPlan
from arci.wire.jsonrpc import Response

if TYPE_CHECKING:
    from arci.boundary.message import Action

__all__ = ["CLIENT_ENVELOPE", "Asked", "Side", "modern"]

CLIENT_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def modern(**params: Any) -> dict[str, Any]:
    """Params with the envelope of the modern era."""
    return {**params, "_meta": {**CLIENT_ENVELOPE, **params.get("_meta", {})}}


class Asked:
    """One request that a server got, and the handle of whoever asked."""

    def __init__(self, server: str, method: str, params: dict[str, Any], done: Any, on_progress: Any) -> None:
        self.server, self.method, self.params = server, method, params
        self.done, self.on_progress = done, on_progress
        self.cancelled: list[str] = []

    def cancel(self, reason: str) -> None:
        self.cancelled.append(reason)

    def answer(self, result: Any = None, *, raw: bytes | None = None, error: Any = None, how: str = ANSWERED) -> None:
        response = Response(0, json.loads(raw) if raw is not None else result, error)
        response.raw = raw
        self.done(how, response)

    def late(self, result: Any) -> None:
        self.answer(result, how=LATE)


class ScriptedServers:
    """Servers that answer when the test says so. `tools`: server -> names; hidden ones begin with an underscore."""

    def __init__(self, tools: dict[str, list[str]], eras: dict[str, str], capabilities: dict[str, Any]) -> None:
        self.names = list(tools)
        self.on_notification: Callable[[str, str, dict[str, Any]], None] = lambda server, method, params: None
        self.asked: list[Asked] = []
        self.info: dict[str, Any] | None = None
        self.heard = b""
        self.connection: Any = None
        self.is_ready: bool | None = None
        self.replay: Any = None
        self._all = tools
        self._tools = Names({s: [n for n in names if n[:1] != "_"] for s, names in tools.items()})
        self._eras, self._capabilities = eras, capabilities
        self._waiting: list[Callable[[bool], None]] = []

    def ready(self, is_ready: bool = True) -> None:
        self.is_ready = is_ready
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell(is_ready)

    def when_ready(self, tell: Callable[[bool], None]) -> None:
        if self.is_ready is None:
            self._waiting.append(tell)
        else:
            tell(self.is_ready)

    def resolve(self, server: str | None, tool: str) -> Target | None:
        return self._tools.resolve(server, tool) if self.is_ready else None

    def tools(self, server: str | None) -> list[dict[str, Any]]:
        names = self._all[server] if server is not None else [n for names in self._all.values() for n in names]
        return [{"name": n, "inputSchema": {"type": "object"}} for n in names if n[:1] != "_"]

    def canonical(self, name: str) -> str:
        target = self.resolve(None, name)
        return name if target is None else target.key

    def about(self, server: str) -> About:
        era = self._eras.get(server, "legacy")
        info = self.info or {"name": server, "version": "9"}
        return About(era, "r", self._capabilities, info, f"use {server} well")

    def is_hidden_resource(self, server: str, uri: str) -> bool:
        return uri == "state://hidden"

    def is_hidden_tool(self, server: str | None, tool: str) -> bool:
        return tool.startswith("_")

    def request(self, server: str, method: str, params: Any, seconds: float, done: Any, on_progress: Any) -> Asked:
        asked = Asked(server, method, params, done, on_progress)
        self.asked.append(asked)
        return asked

    def connected(self, server: str, connection: Any) -> bool:
        is_free, self.connection = self.connection is None, connection
        return is_free and server in self.names

    def said(self, server: str, data: bytes) -> None:
        self.heard += data

    def closed(self, server: str) -> None:
        self.heard += b"<closed>"


class Side:
    """One agent's side with scripted servers; by default one legacy server `shop` with tools `get`, `put`, `_state`."""

    def __init__(
        self,
        tools: dict[str, list[str]] | None = None,
        eras: dict[str, str] | None = None,
        capabilities: dict[str, Any] | None = None,
        *,
        ready: bool = True,
        **begin: Any,
    ) -> None:
        frame = begin_frame(**begin)
        frame["tokens"]["environment"] = "e"
        self.journal = Journal()
        self.alarms = Alarms(self.journal)
        self.servers = ScriptedServers(
            tools or {"shop": ["get", "put", "_state"]}, eras or {}, capabilities or {"tools": {"listChanged": True}}
        )
        terms = Terms(frame)
        plan = FaultPlan(terms.faults, terms.seed, no_load)
        self.agent = AgentSide(self.journal, terms, plan, cast("Servers", self.servers), self.alarms)
        self.done: list[Action] = []
        self._next = 0
        if ready:
            self.servers.ready()

    @property
    def actions(self) -> list[Action]:
        """Everything that was done so far."""
        self.done += self.journal.take()
        return self.done

    @property
    def asked(self) -> Asked:
        """The last request that a server got."""
        return self.servers.asked[-1]

    def open(self, first: bytes = b"ARCI mcp a\n") -> int:
        connection, self._next = self._next, self._next + 1
        self.agent.opened(connection)
        self.send(connection, first)
        return connection

    def send(self, connection: int, data: bytes) -> None:
        self.agent.received(connection, data)

    def ask(self, connection: int, id: Any, method: str, params: dict[str, Any] | None = None) -> None:
        frame = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        self.send(connection, json.dumps(frame).encode() + b"\n")

    def tell(self, connection: int, method: str, **params: Any) -> None:
        self.send(connection, json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def call(self, connection: int, tool: str = "get", id: Any = 1, **arguments: Any) -> None:
        self.ask(connection, id, "tools/call", {"name": tool, "arguments": arguments})

    def written(self, connection: int) -> bytes:
        return b"".join(a.data for a in self.actions if isinstance(a, Send) and a.connection == connection)

    def sent(self, connection: int) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written(connection).splitlines()]

    def last(self, connection: int) -> dict[str, Any]:
        """The last answer: its result, or its error."""
        frame = self.sent(connection)[-1]
        found: dict[str, Any] = frame["result"] if "result" in frame else frame["error"]
        return found

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        told = [a.frame["event"] for a in self.actions if isinstance(a, Tell) and a.frame["type"] == "event"]
        return [e for e in told if not kinds or e["kind"] in kinds]

    def kinds(self) -> list[str]:
        return [e["kind"] for e in self.events()]

    def is_closed(self, connection: int) -> bool:
        return Close(connection) in self.actions

    def has_ended_output(self, connection: int) -> bool:
        return EndOutput(connection) in self.actions

    def ring(self) -> None:
        """The time of every alarm has come that is set by now."""
        for wake in [a for a in self.actions if isinstance(a, Wake)]:
            self.alarms.due(wake.key)
