"""Attacks on MCP servers as the environment: the hidden snapshot tool, and a server that dies of a call."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from arci.agent import ToolFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def call_snapshot(given: dict[str, Any], tools: Any) -> list[Any]:
    """The tool by which the state is taken, under every name that it might answer to."""
    names = (
        "snapshot",
        "shop.snapshot",
        "SNAPSHOT",
        "snapshot ",
        "tools.snapshot",
        "shop/snapshot",
        "shop.shop.snapshot",
    )
    return [(name, partial(tools.call, name)) for name in names]


def crash_server(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Ends the environment in the middle of a call."""
    with suppress(ToolFault):
        tools.call("die", code=1)
    return {"success": True}


def flood_through_server(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Makes the server say what is no message, without end; then honest work."""
    with suppress(ToolFault):
        tools.call("shout", lines=20_000)
    tools.call("do")
    return {}
