"""What the recorder itself answers to an MCP client: the handshake, pings, the tools. Sans-io."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from arci.boundary.rpc import Caller, Handler
    from arci.boundary.tools import ToolRequests

__all__ = ["LATEST_REVISION", "REVISIONS", "mcp_requests"]

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_REVISION = REVISIONS[-1]


def mcp_requests(tools: ToolRequests) -> Dict[str, Handler]:
    """Method -> handler, for connections of kind `mcp`."""
    return {
        "initialize": _initialize,
        "ping": _nothing,
        "logging/setLevel": _nothing,
        "tools/list": tools.list,
        "tools/call": tools.call,
    }


def _initialize(caller: Caller, params: Dict[str, Any]) -> None:
    """Answered at once, whatever the environment is doing: silence costs clients seconds."""
    asked = params.get("protocolVersion")
    caller.answer(
        {
            "protocolVersion": asked if asked in REVISIONS else LATEST_REVISION,
            "capabilities": {"tools": {"listChanged": False}, "logging": {}},
            "serverInfo": {"name": "arci", "version": "1"},
        }
    )


def _nothing(caller: Caller, params: Dict[str, Any]) -> None:
    caller.answer({})
