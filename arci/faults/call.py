"""One tool call as a fault's hooks see it. Data only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.faults.answer import Answer

__all__ = ["Call"]


class Call:
    __slots__ = ("arguments", "call_id", "earlier", "occurrence", "tool")

    def __init__(
        self, tool: str, arguments: Dict[str, Any], occurrence: int, call_id: int, earlier: Optional[Answer] = None
    ) -> None:
        self.tool = tool
        self.arguments = arguments
        self.occurrence = occurrence
        """0-based, by arrival among the calls of this tool in this trial."""
        self.call_id = call_id
        """0-based, by arrival among all calls of this trial."""
        self.earlier = earlier
        """What the tool really answered the last time before this that it succeeded; None if it never did."""
