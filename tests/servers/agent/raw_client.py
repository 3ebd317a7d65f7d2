"""An MCP client in raw frames, through the shim of the `mcpServers` file. Standard library; what it saw is a file."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

WORKDIR = Path(os.environ["ARCI_WORKDIR"])
SERVERS: dict[str, Any] = json.loads(Path(os.environ["ARCI_MCP_CONFIG"]).read_bytes())["mcpServers"]


class Client:
    """One connection to one server."""

    def __init__(self, server: str) -> None:
        argv = [SERVERS[server]["command"], *SERVERS[server]["args"]]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._last_id = 0
        client = {"name": "raw", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The whole answer. Notifications in between are passed over."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            frame: dict[str, Any] = json.loads(line)
            if frame.get("id") == self._last_id:
                return frame
        raise SystemExit("the server is gone")

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.request("tools/list", {})["result"]["tools"]]

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """`ok`, `text` and `value` (the structured content, or null) of a call."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer:
            return {"ok": False, "text": answer["error"]["message"], "value": None}
        result = answer["result"]
        text = "".join(block.get("text", "") for block in result["content"])
        return {"ok": not result.get("isError", False), "text": text, "value": result.get("structuredContent")}

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def leave(seen: dict[str, Any]) -> None:
    """For the grader, as evidence."""
    (WORKDIR / "seen.json").write_text(json.dumps(seen), encoding="utf-8")
