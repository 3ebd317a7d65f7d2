"""Calls numbered by arrival: over all, and per tool or upstream. Pure."""

from __future__ import annotations

from arci.faults.call import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.faults.answer import Answer

__all__ = ["Numbering"]


class Numbering:
    """One for tool calls and decisions, whose counter is common, one for calls of models."""

    def __init__(self) -> None:
        self._count = 0
        self._occurrences: Dict[str, int] = {}

    def next(self, tool: str, arguments: Dict[str, Any], earlier: Optional[Answer] = None) -> Call:
        """The call that arrives now."""
        call = Call(tool, arguments, self._occurrences.get(tool, 0), self._count, earlier)
        self._occurrences[tool] = call.occurrence + 1
        self._count += 1
        return call
