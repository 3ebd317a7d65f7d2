"""The whole tool list of an MCP server, read once, page by page. Sans-io."""

from __future__ import annotations

from arci.boundary.asked import ANSWERED, OVERDUE
from arci.wire.jsonrpc import METHOD_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Set

    from arci.boundary.link import Link
    from arci.wire.jsonrpc import Response

    Tell = Callable[[Optional[List[Dict[str, Any]]], str], None]

__all__ = ["MOST_TOOLS", "Listing"]

MOST_TOOLS = 10_000
_MOST_PAGES = 100


class Listing:
    """One reading. `tell(tools, "")`, or `tell(None, why)`; neither if the server dies."""

    def __init__(self, link: Link, seconds: float, may_lack: bool, tell: Tell) -> None:
        """`may_lack`: the server has not said that it has tools, so it need not know the method."""
        self._link = link
        self._seconds = seconds
        self._may_lack = may_lack
        self._tell = tell
        self._tools: List[Dict[str, Any]] = []
        self._cursors: Set[str] = set()

    def start(self) -> None:
        self._ask({})

    def _ask(self, params: Dict[str, Any]) -> None:
        self._link.request("tools/list", params, self._seconds, self._listed)

    def _listed(self, how: str, response: Optional[Response]) -> None:
        if how == OVERDUE:
            self._tell(None, f"it did not list its tools within setup_seconds ({self._seconds:g} s)")
        elif how == ANSWERED and response is not None:
            if response.error is None:
                self._page(response.result)
            elif self._may_lack and response.error.get("code") == METHOD_NOT_FOUND:
                self._tell([], "")
            else:
                self._tell(None, f"`tools/list` was answered with an error: {str(response.error.get('message'))[:200]}")

    def _page(self, result: Any) -> None:
        tools = result.get("tools") if isinstance(result, dict) else None
        if not isinstance(tools, list) or not all(_is_tool(tool) for tool in tools):
            self._tell(None, "`tools/list` was answered with no list of tools that have names")
            return
        self._tools += tools
        cursor = result.get("nextCursor")
        if cursor is None:
            self._finish()
        elif not isinstance(cursor, str) or cursor in self._cursors:
            self._tell(None, f"`tools/list` goes round in circles: cursor {cursor!r} again"[:300])
        elif len(self._cursors) >= _MOST_PAGES or len(self._tools) > MOST_TOOLS:
            self._tell(None, f"`tools/list` has more than {_MOST_PAGES} pages or {MOST_TOOLS} tools")
        else:
            self._cursors.add(cursor)
            self._ask({"cursor": cursor})

    def _finish(self) -> None:
        seen: Set[str] = set()
        for tool in self._tools:
            if tool["name"] in seen:
                self._tell(None, f"two tools have the name {tool['name']!r}")
                return
            seen.add(tool["name"])
        self._tell(self._tools, "")


def _is_tool(tool: Any) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str)
