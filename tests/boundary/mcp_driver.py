"""Drives an engine whose environment is MCP servers, as `engine_driver` does one with a toolset."""

from __future__ import annotations

import json
from typing import Any

from engine_driver import Core, begin_frame, no_load

from arci.boundary.engine import Engine
from arci.boundary.message import Ask, Control, Ended, LaunchFailed, Said

__all__ = ["LEGACY", "MODERN", "TOOLS", "Fleet", "server"]

LEGACY = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "fake", "version": "1"},
    "instructions": "be kind",
}
MODERN = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "2"}},
}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("get", "put", "dump")]


def server(name: str = "one", **changes: Any) -> dict[str, Any]:
    """As `begin` names it: one that is started by an argv, unless that is None."""
    workdir = f"/work/{name}"
    own = {"name": name, "argv": ["serve"], "env": {}, "workdir": workdir, "task_file": f"{workdir}.task.json"}
    return {**own, "snapshot": None, **changes}


class Fleet(Core):
    """`asked` holds what was asked of all servers; `of` is the oldest unanswered message to one of them."""

    def __init__(self, *servers: dict[str, Any]) -> None:
        super().__init__()
        self.engine = Engine(no_load, lambda reference, workdir: ["snapshot", reference, workdir])
        self.servers = servers or (server(),)

    def start(self, **begin: Any) -> Fleet:
        frame = {**begin_frame(**begin), "servers": list(self.servers)}
        frame["tokens"]["environment"] = "e"
        self.handle(Control(frame))
        return self

    def begun(self, **begin: Any) -> Fleet:
        """All servers are ready, legacy, with three tools each."""
        self.start(**begin)
        for each in self.servers:
            self.shake(each["name"])
        return self

    def shake(self, name: str = "one", tools: list[dict[str, Any]] | None = None) -> None:
        self.result(name, "server/discover", error={"code": -32601, "message": "not known"})
        self.result(name, "initialize", LEGACY)
        self.result(name, "tools/list", {"tools": TOOLS if tools is None else tools})

    def frames(self, name: str = "one") -> list[dict[str, Any]]:
        """Everything that was said to a server."""
        data = b"".join(a.data for a in self.actions if isinstance(a, Ask) and a.process == name)
        return [json.loads(line) for line in data.splitlines()]

    def methods(self, name: str = "one") -> list[str]:
        return [f.get("method", "answer") for f in self.frames(name)]

    def id(self, name: str, method: str) -> int:
        """Of the last request of that method."""
        found: int = [f["id"] for f in self.frames(name) if f.get("method") == method and "id" in f][-1]
        return found

    def say(self, name: str, *frames: Any) -> None:
        for frame in frames:
            self.raw(name, json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    def raw(self, name: str, data: bytes) -> None:
        self.handle(Said(name, data))

    def result(self, name: str, method: str, result: Any = None, error: Any = None) -> None:
        """Answer the last request of that method."""
        what = {"result": result} if error is None else {"error": error}
        self.say(name, {"id": self.id(name, method), **what})

    def servers_of(self) -> Any:
        """What the agent's side sees of the environment."""
        assert self.engine._trial is not None
        return self.engine._trial.servers

    def kind_of_finish(self) -> str | None:
        """Why the last call failed, as it was recorded."""
        kind: str | None = self.events("tool_finish")[-1]["error_kind"]
        return kind

    def text(self, text: str, name: str = "one") -> None:
        self.result(name, "tools/call", {"content": [{"type": "text", "text": text}]})

    def end(self, name: str = "one", how: str = "exit status 3") -> None:
        self.handle(Ended(name, how))

    def fail_launch(self, name: str, detail: str) -> None:
        self.handle(LaunchFailed(name, detail))
