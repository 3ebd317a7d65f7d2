"""A small MCP server over stdio, standard library only: notes in memory and, at its end, in `notes.json`.

notes_server.py WORKDIR TASK_FILE SEED
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

WORKDIR, TASK_FILE, SEED = sys.argv[1:4]
REVISION = "2025-06-18"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [
    {"name": "add", "description": "Add a note.", "inputSchema": TEXT},
    {"name": "dump", "description": "All notes.", "inputSchema": {"type": "object"}},
    {"name": "die", "description": "End with the code.", "inputSchema": {"type": "object"}},
    {"name": "where", "description": "What the server was given.", "inputSchema": {"type": "object"}},
]
notes: list[str] = []


def where() -> dict[str, Any]:
    task = json.loads(Path(TASK_FILE).read_text(encoding="utf-8"))
    given = {name: os.environ.get(name) for name in ("ARCI_TASK_FILE", "ARCI_SEED", "HOME", "MODE", "ARCI_MCP_URL")}
    return {"task": task, "seed": SEED, "workdir": WORKDIR, "cwd": str(Path.cwd()), **given}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "add":
        notes.append(arguments["text"])
        return {"count": len(notes)}
    if name == "die":
        sys.stderr.write("asked to die\n")
        sys.stderr.flush()
        os._exit(arguments["code"])
    return where() if name == "where" else {"notes": notes}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "notes", "version": "1.0"}
        capabilities = {"tools": {}, "resources": {}}
        return {"protocolVersion": REVISION, "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "resources/read":
        text = json.dumps({"notes": notes})
        return {"contents": [{"uri": params["uri"], "mimeType": "application/json", "text": text}]}
    value = call(params["name"], params.get("arguments", {}))
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value, "isError": False}


def tell(token: object) -> None:
    """How far a call is, and a line of the log between."""
    for method, params in (
        ("progress", {"progressToken": token, "progress": 1}),
        ("message", {"level": "info", "data": "half way"}),
        ("progress", {"progressToken": token, "progress": 2, "total": 2}),
    ):
        frame = {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}
        sys.stdout.write(json.dumps(frame) + "\n")


def main() -> None:
    for line in sys.stdin:
        frame = json.loads(line)
        if "id" not in frame:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": frame["id"]}
        meta = frame.get("params", {}).get("_meta", {})
        if "progressToken" in meta:
            tell(meta["progressToken"])
        if frame["method"] in ("initialize", "tools/list", "tools/call", "resources/read"):
            reply["result"] = answer(frame["method"], frame.get("params", {}))
        else:
            reply["error"] = {"code": -32601, "message": f"no method {frame['method']}"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
    Path(WORKDIR, "notes.json").write_text(json.dumps(notes), encoding="utf-8")


main()
