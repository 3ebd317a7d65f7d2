"""The recorder's core: what happened goes in, what is to be done comes out. No sockets, no clock, no sleep.

It only assembles the parts and hands each message to the one that owns it.
"""

from __future__ import annotations

from arci.boundary.calls import Calls
from arci.boundary.connections import Connections
from arci.boundary.ending import Ending
from arci.boundary.journal import Journal
from arci.boundary.limits import Limits
from arci.boundary.mcp import mcp_requests
from arci.boundary.message import (
    Closed,
    Control,
    Due,
    EnvironmentEnded,
    EnvironmentSaid,
    Exit,
    Listen,
    ListeningStopped,
    Opened,
    Received,
)
from arci.boundary.peer import Peer
from arci.boundary.rpc import Dispatch
from arci.boundary.setup import Setup
from arci.boundary.status import Status
from arci.boundary.terms import Terms
from arci.boundary.tools import ToolRequests
from arci.boundary.worker import WorkerRequests, latched_notice
from arci.faults.plan import FaultPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from arci.boundary.message import Action, Key, Message

__all__ = ["Engine"]


class _Trial:
    """The parts that exist once the trial has begun."""

    def __init__(self, terms: Terms, plan: FaultPlan, journal: Journal, peer: Peer) -> None:
        limits = self.limits = Limits(terms, journal, self._latched)
        self.setup = Setup(journal, peer, terms)
        self.calls = Calls(journal, limits, plan, peer, self.setup.knows, terms.tool_s)
        tools = ToolRequests(self.calls, self.setup)
        worker = WorkerRequests(journal, terms, limits, self.setup, tools)
        self.connections = Connections(
            journal,
            tokens={"status": terms.status_token, "mcp": terms.agent_token, "worker": terms.agent_token},
            takers={
                "status": Status(journal).take,
                "mcp": Dispatch(mcp_requests(tools), worker.notifications).take,
                "worker": Dispatch(worker.requests, worker.notifications).take,
            },
        )
        self.ending = Ending(journal, self.connections, self.calls, peer, terms)

    def _latched(self, detail: str) -> None:
        latched_notice(self.connections.of_kind("worker"), detail)


class Engine:
    """One trial. `load` turns `module:function` into a custom fault's factory."""

    def __init__(self, load: Callable[[str], Any]) -> None:
        self._load = load
        self._journal = Journal()
        self._peer = Peer(self._journal)
        self._trial: Optional[_Trial] = None
        self._handlers: Dict[type, Callable[[Any], None]] = {
            Control: self._control,
            Opened: lambda m: self._part.connections.opened(m.connection),
            Received: self._received,
            Closed: lambda m: self._part.connections.closed(m.connection),
            ListeningStopped: lambda m: self._part.ending.listening_stopped(),
            EnvironmentSaid: self._environment_said,
            EnvironmentEnded: self._environment_ended,
            Due: lambda m: self._due(m.key),
        }

    def handle(self, message: Message, now_s: float) -> List[Action]:
        """What is to be done about one message. `now_s`: seconds on any clock that does not go back."""
        self._journal.now_s = now_s
        self._handlers[type(message)](message)
        if self._trial is not None:
            self._trial.ending.check()
        return self._journal.take()

    @property
    def _part(self) -> _Trial:
        """The parts; a connection before `begin` cannot be, since nobody listens."""
        if self._trial is None:
            raise RuntimeError("the trial has not begun")
        return self._trial

    def _control(self, message: Control) -> None:
        frame_type = message.frame.get("type")
        if frame_type == "begin" and self._trial is None:
            self._begin(message.frame)
        elif frame_type == "agent_gone" and self._trial is not None:
            self._trial.ending.agent_gone()
        elif frame_type == "stop":
            self._journal.do(Exit(0))
        else:
            self._journal.trouble("harness", f"control frame of type {frame_type!r} was not expected")

    def _begin(self, frame: Dict[str, Any]) -> None:
        self._journal.begin()
        try:
            terms = Terms(frame)
        except (KeyError, TypeError, ValueError) as error:
            self._journal.trouble("harness", f"begin: {type(error).__name__}: {error}")
            return
        try:
            plan, broken = FaultPlan(terms.faults, terms.seed, self._load), None
        except Exception as error:  # a custom factory is user code and may raise anything
            plan, broken = FaultPlan([], terms.seed, self._load), error
        self._trial = _Trial(terms, plan, self._journal, self._peer)
        self._journal.do(Listen(terms.listen))
        if broken is not None:
            self._trial.setup.fail(f"{type(broken).__name__}: {broken}")
        else:
            self._trial.setup.start()

    def _received(self, message: Received) -> None:
        self._part.limits.count_bytes(len(message.data))
        self._part.connections.received(message.connection, message.data)

    def _environment_said(self, message: EnvironmentSaid) -> None:
        if self._trial is not None:
            self._trial.limits.count_bytes(len(message.data))
        self._peer.said(message.data)

    def _environment_ended(self, message: EnvironmentEnded) -> None:
        if self._peer.is_gone or (self._trial is not None and self._trial.ending.is_over):
            return
        self._journal.trouble("environment", f"the environment ended by itself: {message.how}")
        self._peer.gone()

    def _due(self, key: Key) -> None:
        kind, number = key
        if kind == "peer":
            self._peer.overdue(number)
        elif kind == "call":
            self._part.calls.due(number)
        elif kind == "drain":
            self._part.ending.overdue()
