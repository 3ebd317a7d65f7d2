"""The end of a trial: drain the agent's connections, finish calls, take the final state, count. Sans-io."""

from __future__ import annotations

from arci.boundary.message import EndEnvironment, StopListening, Wake
from arci.boundary.peer import ANSWERED, OVERDUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from arci.boundary.calls import Calls
    from arci.boundary.connections import Connections
    from arci.boundary.journal import Journal
    from arci.boundary.peer import Peer
    from arci.boundary.terms import Terms
    from arci.wire.jsonrpc import Response

__all__ = ["DRAIN_S", "Ending"]

DRAIN_S = 2.0
"""How long connections may take to end, and a call under way to be answered, after the agent is gone."""


class Ending:
    """Starts when every process of the agent is gone. What it had sent before still counts."""

    def __init__(self, journal: Journal, connections: Connections, calls: Calls, peer: Peer, terms: Terms) -> None:
        self._journal = journal
        self._connections = connections
        self._calls = calls
        self._peer = peer
        self._terms = terms
        self._stage = "running"
        self._may_come = True  # a connection may still wait to be accepted

    @property
    def is_over(self) -> bool:
        """`end` was said."""
        return self._stage == "over"

    def agent_gone(self) -> None:
        if self._stage == "running":
            self._stage = "draining"
            self._journal.do(StopListening())
            self._journal.do(Wake(("drain", 0), self._journal.now_s + DRAIN_S))

    def listening_stopped(self) -> None:
        self._may_come = False

    def check(self) -> None:
        """Go on if nothing is left to wait for. Called after every message."""
        if self._stage != "draining" or self._may_come or self._connections.count:
            return
        self._calls.settle()
        self._peer.drop_unsent()
        if not self._peer.is_busy:
            self._snapshot()

    def overdue(self) -> None:
        """The time for draining is up."""
        if self._stage == "draining":
            self._connections.close_all()
            self._calls.settle()
            self._peer.drop_unsent()
            self._peer.give_up()
            self._snapshot()

    def _snapshot(self) -> None:
        self._stage = "snapshot"
        self._peer.ask("arci/snapshot", {}, self._terms.tool_s, self._snapshot_taken)

    def _snapshot_taken(self, how: str, frame: Optional[Response]) -> None:
        if self._stage != "snapshot":
            return
        state = frame.result.get("state") if frame is not None and isinstance(frame.result, dict) else None
        if how == ANSWERED and isinstance(state, dict):
            self._journal.tell("final_state", state=state)
        elif how == OVERDUE:
            self._journal.trouble("environment", f"snapshot: no answer within {self._terms.tool_s:g} s")
        elif how == ANSWERED:
            error = frame.error if frame is not None else None
            self._journal.trouble("environment", f"snapshot: {(error or {}).get('message', 'no JSON object')}")
        self._stage = "over"  # an environment that died was reported when it did
        self._journal.tell("end", count=self._journal.events)
        self._journal.do(EndEnvironment())
