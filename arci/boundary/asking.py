"""One tool call on its way: as a client asked it, and as it is under way. Data only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from arci.boundary.servers import Handle, Target
    from arci.faults.answer import Answer
    from arci.faults.call import Call
    from arci.faults.plan import Encounter

    Deliver = Callable[[Answer], None]

__all__ = ["Asking", "Opened"]


class Asking:
    """One `tools/call` as a client sent it."""

    __slots__ = ("arguments", "deliver", "extra", "is_retry", "may_retry", "on_progress", "server", "tool")

    def __init__(self, server: Optional[str], tool: str, arguments: Dict[str, Any], deliver: Deliver) -> None:
        self.server = server
        self.tool = tool
        self.arguments = arguments
        self.deliver = deliver  # called once, at once or later; not at all if the call is cancelled
        self.extra: Dict[str, Any] = {}  # further members of `params` for the server
        self.on_progress: Optional[Callable[[Dict[str, Any]], None]] = None
        self.may_retry = False  # the client is of the era in which a server may ask for more input
        self.is_retry = False  # and this is what came of that


class Opened:
    """A call that is not over."""

    __slots__ = ("answer", "asking", "call", "encounter", "executed", "handle", "is_over", "target", "then")

    def __init__(self, call: Call, asking: Asking, target: Optional[Target], encounter: Encounter) -> None:
        self.call = call
        self.asking = asking
        self.target = target
        self.encounter = encounter
        self.executed = False
        self.is_over = False
        self.handle: Optional[Handle] = None
        self.then: Callable[[], None] = _nothing  # called once it is over
        self.answer: Optional[Answer] = None  # what the agent will get, where a fault holds it back


def _nothing() -> None:
    """Nothing comes of most calls but their answer."""
