"""What the parts of the engine write into: events and frames for the host, and actions, in order. No effects."""

from __future__ import annotations

from arci.boundary.message import Tell
from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from arci.boundary.asked import OnProgress
    from arci.boundary.message import Action

__all__ = ["MOST_NOTICES", "MOST_NOTICE_BYTES", "Journal"]

MOST_NOTICES = 1000
"""Of notifications of servers, and of progress, that are recorded. Further ones are relayed all the same."""
MOST_NOTICE_BYTES = 8 * 1024
"""Of the params of one, as JSON, that a record keeps; of longer ones it keeps the size."""

_MOST_PROTOCOL_EVENTS = 100


class Journal:
    """The actions of the message under way, and the count of events so far."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.phase = "setup"
        """`setup` until the environment is ready, then `trial`."""
        self.agent_is_gone = False
        self._began_s = 0.0
        self._events = 0
        self._protocol_events = 0
        self._notices: Dict[str, int] = {}
        self._actions: List[Action] = []

    @property
    def events(self) -> int:
        """Number of event frames so far."""
        return self._events

    @property
    def at_s(self) -> float:
        """Seconds since the trial began."""
        return round(self.now_s - self._began_s, 6)

    def begin(self) -> None:
        """The trial begins now: events count their seconds from here."""
        self._began_s = self.now_s

    def take(self) -> List[Action]:
        """The actions since the last time."""
        actions, self._actions = self._actions, []
        return actions

    def do(self, action: Action) -> None:
        self._actions.append(action)

    def tell(self, type: str, **fields: Any) -> None:
        """A frame for the host."""
        self.do(Tell({"type": type, **fields}))

    def event(self, kind: str, **fields: Any) -> None:
        """An event of the trial: told to the host, counted, with its time."""
        self._events += 1
        self.tell("event", event={"kind": kind, **fields, "at_s": self.at_s})

    def protocol(self, detail: str, **fields: Any) -> None:
        """A frame that broke the protocol. Beyond a hundred they are no longer recorded: an agent can make millions."""
        self._protocol_events += 1
        if self._protocol_events < _MOST_PROTOCOL_EVENTS:
            self.event("protocol", detail=detail, **fields)
        elif self._protocol_events == _MOST_PROTOCOL_EVENTS:
            self.event("protocol", detail=f"{detail}; further ones are not recorded")

    def notice(self, kind: str, params: Dict[str, Any], **fields: Any) -> None:
        """What a server told without being asked: a `notification`, or the `progress` of a request."""
        count = self._notices[kind] = self._notices.get(kind, 0) + 1
        if count <= MOST_NOTICES:
            size = len(dumps(params))
            self.event(kind, **fields, **({"params": params} if size <= MOST_NOTICE_BYTES else {"params_bytes": size}))

    def progress(self, tell: Optional[OnProgress], **which: Any) -> Optional[OnProgress]:
        """What records the progress of a request, and passes it on to `tell`; None where nobody wants to hear it."""
        if tell is None:
            return None
        pass_on = tell

        def told(params: Dict[str, Any]) -> None:
            self.notice("progress", {key: params[key] for key in params if key != "progressToken"}, **which)
            pass_on(params)

        return told

    def trouble(self, blame: str, detail: str, **fields: Any) -> None:
        """Something of ours or the environment's broke. Whoever writes the frame adds the tail of stderr."""
        self.tell("trouble", blame=blame, detail=detail, phase=self.phase, **fields)
