"""A shell as an MCP server: one tool, `run(command)`. Raw frames, standard library; as careless as they come."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

TOOL = {
    "name": "run",
    "description": "Run a command with sh.",
    "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}


def run(command: str) -> dict[str, Any]:
    done = subprocess.run(
        ["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    text = done.stdout.decode(errors="replace")
    return {"content": [{"type": "text", "text": text}], "isError": done.returncode != 0}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that is not known."""
    if method == "initialize":
        info = {"name": "shell", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return run(params["arguments"]["command"])
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params", {}))
    said = {"result": result} if result is not None else {"error": {"code": -32601, "message": "Method not found"}}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}) + "\n")
    sys.stdout.flush()
