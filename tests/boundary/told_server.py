"""An MCP server over stdio that says what its caller tells it to say, byte for byte: a program's source, and words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from small_host import Client, Recorder

__all__ = ["ANSWER", "SERVER", "answer", "begun", "client", "defined", "heard", "say", "told"]

SERVER = """
import json, sys

out, heard, calls = sys.stdout.buffer, [], []
CAPABILITIES = {"capabilities": {"tools": {}}}
ABOUT = {"serverInfo": {"name": "told", "version": "1"}, **CAPABILITIES}
TOOLS = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("say", "heard")]}
RESULTS = {
    "legacy": {"initialize": {"protocolVersion": "2025-11-25", **ABOUT}, "tools/list": TOOLS},
    "modern": {
        "server/discover": {"resultType": "complete", "supportedVersions": ["2026-07-28"], **CAPABILITIES},
        "tools/list": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **TOOLS},
    },
}
results = {}
for era in sys.argv[1].split("+"):
    results.update(RESULTS[era])
if len(sys.argv) > 2:  # starts when somebody opens the other end
    open(sys.argv[2]).close()


def write(text):
    out.write(text.encode())
    out.flush()


def answer(id, **what):
    write(json.dumps({"jsonrpc": "2.0", "id": id, **what}) + "\\n")


def filled(text, frame):
    ids = {"<id>": frame["id"], "<token>": frame["params"].get("_meta", {}).get("progressToken")}
    ids.update(("<%d>" % n, id) for n, id in enumerate(calls))
    for mark, value in ids.items():
        text = text.replace(mark, json.dumps(value))
    return text


for line in sys.stdin:
    frame = json.loads(line)
    heard.append(frame)
    id, method = frame.get("id"), frame.get("method")
    if method == "tools/call" and frame["params"]["name"] == "say":
        calls.append(id)
        for text in frame["params"]["arguments"]["say"]:
            write(filled(text, frame))
    elif method == "tools/call":
        calls.append(id)
        answer(id, result={"content": [], "structuredContent": {"heard": heard}})
    elif method in results:
        answer(id, result=results[method])
    elif method is not None and id is not None:
        answer(id, error={"code": -32601, "message": "not known"})
"""


def answer(result: str = '{"content":[],"structuredContent":{"n":1}}', id: str = "<id>") -> str:
    """A line. `<id>`: of the call that has it said; `<0>`: of the first call; `<token>`: the call's for progress."""
    return f'{{"jsonrpc":"2.0","id":{id},"result":{result}}}\n'


ANSWER = answer()


def told(bench: Any, era: str = "legacy", *argv: str, name: str = "told") -> dict[str, Any]:
    """The server as `begin` names it; `era` is `legacy`, `modern` or `legacy+modern`."""
    server: dict[str, Any] = bench.script(name, SERVER, era, *argv)
    return server


def begun(bench: Any, *servers: dict[str, Any], **begin: Any) -> Recorder:
    recorder: Recorder = bench.recorder(toolset=None)
    recorder.begin(servers=servers or [told(bench)], **begin)
    recorder.until("initial_state")
    return recorder


def client(recorder: Recorder, name: str = "told") -> Client:
    return recorder.connect(f"ARCI mcp agent-token {name}\n".encode())


def say(agent: Client, *lines: str, id: Any = 1, **meta: Any) -> None:
    """Have the server say these lines. `meta`: the call's `_meta`."""
    agent.ask(id, "tools/call", name="say", arguments={"say": lines}, **({"_meta": meta} if meta else {}))


def heard(agent: Client, method: str | None) -> list[dict[str, Any]]:
    """What the server has heard of that method; None: answers."""
    agent.ask("heard", "tools/call", name="heard", arguments={})
    frames = agent.frame()["result"]["structuredContent"]["heard"]
    return [f for f in frames if f.get("method") == method]


def defined(page: str | None) -> tuple[set[str], set[str]]:
    """Tests that a module's docstring names in its table of rows, and those of them that are defined nowhere."""
    words = {word.strip("`,.()") for word in (page or "").split()}
    named = {word for word in words if word.startswith("test_")}
    source = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    return named, {name for name in named if f"def {name}(" not in source}
