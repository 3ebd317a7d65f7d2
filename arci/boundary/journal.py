"""What the parts of the engine write into: events and frames for the host, and actions, in order. No effects."""

from __future__ import annotations

from arci.boundary.message import Tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List

    from arci.boundary.message import Action

__all__ = ["Journal"]

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
        self._actions: List[Action] = []

    @property
    def events(self) -> int:
        """Number of event frames so far."""
        return self._events

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
        self.tell("event", event={"kind": kind, **fields, "at_s": round(self.now_s - self._began_s, 6)})

    def protocol(self, detail: str, **fields: Any) -> None:
        """A frame that broke the protocol. Beyond a hundred they are no longer recorded: an agent can make millions."""
        self._protocol_events += 1
        if self._protocol_events < _MOST_PROTOCOL_EVENTS:
            self.event("protocol", detail=detail, **fields)
        elif self._protocol_events == _MOST_PROTOCOL_EVENTS:
            self.event("protocol", detail=f"{detail}; further ones are not recorded")

    def trouble(self, blame: str, detail: str, **fields: Any) -> None:
        """Something of ours or the environment's broke. Whoever writes the frame adds the tail of stderr."""
        self.tell("trouble", blame=blame, detail=detail, phase=self.phase, **fields)
