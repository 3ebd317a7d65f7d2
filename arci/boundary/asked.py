"""One request to a server, from its sending to its answer, and whatever may come after it. Plain data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from arci.boundary.message import Key
    from arci.wire.jsonrpc import Response

    Done = Callable[[str, Optional[Response]], None]
    OnProgress = Callable[[Dict[str, Any]], None]

__all__ = ["ANSWERED", "GONE", "LATE", "OVERDUE", "UNSENT", "Asked"]

ANSWERED = "answered"
OVERDUE = "overdue"
"""No answer in time. A `LATE` one may follow."""
LATE = "late"
GONE = "gone"
"""The environment ended before it answered."""
UNSENT = "unsent"
"""Never sent, because environment or agent were gone first; so it was not executed."""


class Asked:
    """`done(how, response)` is called once, and once more with `LATE` if it was `OVERDUE` or cancelled."""

    __slots__ = ("alarm", "done", "id", "is_cancelled", "is_of_agent", "method", "on_progress", "params", "seconds")

    def __init__(
        self,
        id: int,
        method: str,
        params: Dict[str, Any],
        seconds: float,
        done: Done,
        on_progress: Optional[OnProgress] = None,
    ) -> None:
        self.id = id
        self.method = method
        self.params = params
        self.seconds = seconds
        self.done = done
        self.on_progress = on_progress
        self.alarm: Optional[Key] = None
        self.is_cancelled = False
        self.is_of_agent = False
