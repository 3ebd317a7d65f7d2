"""What every Python client of the matrix shares: how it finds the tools, and how it tells what it saw."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

ITEM = "apples"


def command() -> list[str]:
    """The shim and its arguments, as a client starts an MCP server over stdio."""
    return os.environ["ARCI_MCP_COMMAND"].split()


def config() -> dict[str, Any]:
    """The `mcpServers` file, as clients with a configuration file read it."""
    found: dict[str, Any] = json.loads(Path(os.environ["ARCI_MCP_CONFIG"]).read_text(encoding="utf-8"))
    return found


def url() -> str:
    """The address of the tools over Streamable HTTP."""
    return os.environ["ARCI_MCP_URL"]


def number(text: str) -> int:
    """The first number in what a framework shows of an answer; 0 if there is none, which no order is right with."""
    found = re.search(r"\d+", text)
    return int(found[0]) if found else 0


def answer(is_error: bool, content: object) -> dict[str, Any]:
    """One tool call as this client's user sees it. `content` in whatever form the framework gives it."""
    text = content if isinstance(content, str) else json.dumps(content, default=str)
    return {"is_error": is_error, "text": text}


def save(revision: str | None, tools: list[str], calls: list[dict[str, Any]]) -> None:
    """Leave `seen.json` in the workdir, and the same on stdout. `calls`: count (faulted), count again, order."""
    faulted, clean, ordered = calls
    seen = {"revision": revision, "tools": sorted(tools), "faulted": faulted, "clean": clean, "ordered": ordered}
    text = json.dumps(seen)
    Path(os.environ["ARCI_WORKDIR"], "seen.json").write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(text + "\n")
