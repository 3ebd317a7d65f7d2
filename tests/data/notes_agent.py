"""A small MCP client, standard library only, that does its task in the way that the task names.

notes_agent.py TASK_FILE MCP_CONFIG MCP_URL
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

TASK_FILE, CONFIG, URL = sys.argv[1:4]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


class Stdio:
    """A session through a command, as MCP clients hold it."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
        self._next = 0
        self.heard: list[Any] = []
        self.ask("initialize", HELLO)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, frame: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        self._next += 1
        self.say({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        while line := self.process.stdout.readline():
            frame: dict[str, Any] = json.loads(line)
            if frame.get("id") == self._next:
                return frame
            self.heard.append((frame["method"], frame["params"]))
        raise SystemExit("the server is gone")

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait()


def session(server: str | None = None) -> Stdio:
    servers = json.loads(Path(CONFIG).read_text(encoding="utf-8"))["mcpServers"]
    entry = servers[server or next(iter(servers))]
    return Stdio(entry["command"], *entry["args"])


def add(text: str = "milk") -> None:
    notes = session()
    assert notes.call("add", text=text)["result"]["structuredContent"] == {"count": 1}
    assert notes.close() == 0


def by_command_line() -> None:
    notes = Stdio(*os.environ["ARCI_MCP_COMMAND"].split(" "))
    notes.call("add", text="milk")
    notes.close()


def post(frame: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(URL, json.dumps({"jsonrpc": "2.0", **frame}).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")


def by_http() -> None:
    post({"id": 1, "method": "initialize", "params": HELLO})
    post({"method": "notifications/initialized"})
    post({"id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"text": "milk"}}})


LISTEN = {"name": "add", "arguments": {"text": "milk"}, "_meta": {"progressToken": "mine"}}


def listen() -> None:
    """Ends with a code that says what was heard: 43 for all three in their order, 30 for nothing."""
    notes = session()
    notes.ask("tools/call", LISTEN)
    heard = [(method.rpartition("/")[2], params.get("progress", params.get("data"))) for method, params in notes.heard]
    is_whole = heard == [("progress", 1), ("message", "half way"), ("progress", 2)]
    sys.exit((40 if is_whole else 30) + len(heard))


def listen_by_http() -> None:
    """Over HTTP a POST is answered with one message, and nothing else is heard."""
    post({"id": 1, "method": "initialize", "params": HELLO})
    post({"method": "notifications/initialized"})
    answer = post({"id": 2, "method": "tools/call", "params": LISTEN})
    sys.exit(50 if answer["id"] == 2 else 30)


def kill_the_shim() -> None:
    notes = session()
    notes.call("add", text="milk")
    notes.process.kill()


def reconnect() -> None:
    session().close()
    add()


def look_for_what_is_hidden() -> None:
    notes = session()
    tools = [tool["name"] for tool in notes.ask("tools/list", {})["result"]["tools"]]
    assert "add" in tools
    assert "dump" not in tools
    unknown, hidden = notes.call("nobody"), notes.call("dump")
    text = json.dumps([unknown.get("result"), unknown.get("error")]).replace("nobody", "dump")
    assert json.dumps([hidden.get("result"), hidden.get("error")]) == text, (unknown, hidden)
    notes.call("add", text="milk")


def kill_the_server() -> None:
    session().call("die", code=7)


def ask_where() -> None:
    value = session().call("where")["result"]["structuredContent"]
    given = {"server": value, "agent": dict(os.environ), "cwd": str(Path.cwd())}
    Path(os.environ["ARCI_WORKDIR"], "where.json").write_text(json.dumps(given), encoding="utf-8")
    add()


WAYS = {
    "add": add,
    "by-command-line": by_command_line,
    "by-http": by_http,
    "kill-the-shim": kill_the_shim,
    "reconnect": reconnect,
    "look-for-what-is-hidden": look_for_what_is_hidden,
    "kill-the-server": kill_the_server,
    "ask-where": ask_where,
    "listen": listen,
    "listen-by-http": listen_by_http,
    "never-connect": lambda: None,
    "leave-with-3": lambda: sys.exit(3),
    "leave-with-75": lambda: sys.exit(75),
}
WAYS[json.loads(Path(TASK_FILE).read_text(encoding="utf-8"))["way"]]()
