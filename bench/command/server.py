"""As small as an MCP server gets: one tool that echoes. What the recorder's own start is measured against."""

from __future__ import annotations

import json
import sys

ABOUT = {"serverInfo": {"name": "small", "version": "1"}, "capabilities": {"tools": {}}}
RESULTS = {
    "initialize": {"protocolVersion": "2025-11-25", **ABOUT},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": []},
}


def main() -> None:
    for line in sys.stdin:
        frame = json.loads(line)
        if "id" in frame:
            result = RESULTS.get(frame["method"])
            refused = {"error": {"code": -32601, "message": "not known"}}
            reply = refused if result is None else {"result": result}
            print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], **reply}), flush=True)


main()
