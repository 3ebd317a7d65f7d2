"""A small MCP server over stdio whose tools include those that a descriptor hides and those that end it."""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAMES = ("do", "die", "shout", "snapshot")
state = {"done": 0, "destroyed": 0}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "do":
        state["done"] += 1
    elif name == "die":
        os._exit(arguments["code"])
    elif name == "shout":
        sys.stdout.write("this is no message\n" * arguments["lines"])
    return dict(state)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "shop", "version": "1.0"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    value = call(params["name"], params.get("arguments", {}))
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value, "isError": False}


def main() -> None:
    for line in sys.stdin:
        frame = json.loads(line)
        if "id" not in frame:
            continue
        known = frame["method"] in ("initialize", "ping", "tools/list", "tools/call")
        said = (
            {"result": answer(frame["method"], frame.get("params", {}))}
            if known
            else {"error": {"code": -32601, "message": "unknown"}}
        )
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": frame["id"], **said}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
