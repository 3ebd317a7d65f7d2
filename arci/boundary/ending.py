"""The end of a trial: drain the agent's connections, finish calls, end the servers, tell the final state. Sans-io."""

from __future__ import annotations

from arci.boundary.message import StopListening

TYPE_CHECKING = False
if TYPE_CHECKING:
    from arci.boundary.agent_side import AgentSide
    from arci.boundary.alarms import Alarms
    from arci.boundary.journal import Journal
    from arci.boundary.servers import Servers
    from arci.boundary.setup import Setup
    from arci.boundary.snapshots import Snapshots, States
    from arci.boundary.terms import Terms

__all__ = ["DRAIN_S", "Ending"]

DRAIN_S = 2.0
"""How long connections may take to end, and a call under way to be answered, after the agent is gone."""


class Ending:
    """Starts when every process of the agent is gone. What it had sent before still counts."""

    def __init__(
        self,
        journal: Journal,
        alarms: Alarms,
        terms: Terms,
        agent: AgentSide,
        servers: Servers,
        setup: Setup,
        snapshots: Snapshots,
    ) -> None:
        self._journal = journal
        self._alarms = alarms
        self._terms = terms
        self._agent = agent
        self._servers = servers
        self._setup = setup
        self._snapshots = snapshots
        self._stage = "running"
        self._may_come = True  # a connection may still wait to be accepted
        self._states: States = None

    @property
    def is_over(self) -> bool:
        """`end` was said."""
        return self._stage == "over"

    def agent_gone(self) -> None:
        if self._stage == "running":
            self._stage = "draining"
            self._journal.agent_is_gone = True
            self._journal.do(StopListening())
            self._alarms.after("drain", DRAIN_S, self._overdue)

    def listening_stopped(self) -> None:
        self._may_come = False

    def check(self) -> None:
        """Go on if nothing is left to wait for. Called after every message."""
        if self._stage != "draining" or self._may_come or self._agent.count:
            return
        self._agent.settle()
        self._servers.drop_unsent()
        if not self._servers.is_busy:
            self._snapshot()

    def _overdue(self) -> None:
        """The time for draining is up."""
        if self._stage == "draining":
            self._agent.close_all()
            self._agent.settle()
            self._servers.drop_unsent()
            self._servers.give_up()
            self._snapshot()

    def _snapshot(self) -> None:
        self._stage = "snapshot"
        if self._setup.is_ready:
            self._snapshots.take(self._terms.tool_s, self._asked)
        else:
            self._setup.fail("")  # too late to become ready
            self._asked(None)

    def _asked(self, states: States) -> None:
        """The servers have said what they had to say."""
        self._states = states
        self._servers.stop(self._stopped)

    def _stopped(self) -> None:
        if self._states is None:
            self._tell(None)
        else:
            self._snapshots.take_by_function(self._terms.tool_s, self._tell)

    def _tell(self, more: States) -> None:
        """Without a state, the host has been told why."""
        if self._states is not None and more is not None:
            state = self._snapshots.state({**self._states, **more})
            self._journal.tell("final_state", state=state)
        self._stage = "over"
        self._journal.tell("end", count=self._journal.events)
