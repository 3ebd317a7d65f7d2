"""The recorder's core: what happened goes in, what is to be done comes out. No sockets, no clock, no sleep.

It only assembles the parts and hands each message to the one that owns it.
"""

from __future__ import annotations

from arci.boundary.agent_side import AgentSide
from arci.boundary.alarms import Alarms
from arci.boundary.ending import Ending
from arci.boundary.journal import Journal
from arci.boundary.message import (
    Closed,
    Control,
    Due,
    Ended,
    Exit,
    HalfClosed,
    LaunchFailed,
    Listen,
    Listening,
    ListeningStopped,
    Opened,
    Received,
    Said,
)
from arci.boundary.peer import TOOLSET, Peer
from arci.boundary.servers import Servers
from arci.boundary.setup import Setup
from arci.boundary.snapshots import Snapshots
from arci.boundary.terms import Terms
from arci.faults.plan import FaultPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Protocol, Union

    from arci.boundary.decision_fixture import FixtureArgv
    from arci.boundary.message import Action, Key, Message
    from arci.boundary.python_snapshot import Argv
    from arci.boundary.source import Source

    class Process(Protocol):
        """Whoever wants to know of a process."""

        def said(self, data: bytes) -> None: ...
        def ended(self, how: str) -> None: ...
        def launch_failed(self, detail: str) -> None: ...


__all__ = ["Engine"]

FIXTURE = "decisions/fixture"
"""The process that answers decisions. No server is called so."""
UPSTREAM_FRAMES = ("upstream_head", "upstream_chunk", "upstream_end", "upstream_failed")


def _no_snapshots(reference: str, workdir: str) -> List[str]:
    raise RuntimeError(f"no snapshot function can be called here, {reference} neither")


class _Trial:
    """The parts that exist once the trial has begun."""

    def __init__(
        self,
        terms: Terms,
        plan: FaultPlan,
        journal: Journal,
        alarms: Alarms,
        peer: Peer,
        argv: Argv,
        fixture_argv: Optional[FixtureArgv],
    ) -> None:
        self.servers = Servers(journal)
        self.sources = _sources(terms, journal, alarms, peer, self.servers)
        self.snapshots = Snapshots(journal, alarms, terms, list(self.sources.values()), argv)
        self.setup = Setup(journal, terms, list(self.sources.values()), self.snapshots, self.servers.recorded_tools)
        self.servers.fill(list(self.sources.values()), self.setup)
        self.agent = AgentSide(journal, terms, plan, self.servers, alarms, fixture_argv)
        self.ending = Ending(journal, alarms, terms, self.agent, self.servers, self.setup, self.snapshots)

    def process(self, name: str) -> Optional[Process]:
        """Who wants to know of the process of that name."""
        found: Union[Process, None] = self.sources.get(name) or self.snapshots.running.get(name)
        return self.agent.fixture if found is None and name == FIXTURE else found


def _sources(terms: Terms, journal: Journal, alarms: Alarms, peer: Peer, servers: Servers) -> Dict[str, Source]:
    """The trial's servers; those with an argv are numbered, for each has a user id of its own."""
    if terms.replay is not None:
        from arci.boundary.replay import Replay
        from arci.boundary.replay_source import recorded_sources

        servers.replay = Replay(journal, terms.replay)
        return recorded_sources(servers.replay)
    if not terms.servers:
        from arci.boundary.toolset_source import ToolsetSource

        return {TOOLSET: ToolsetSource(journal, peer, terms)}
    from arci.boundary.server import McpServer  # a toolset need not wait for what only servers need

    found: Dict[str, Source] = {}
    number = 0
    for server in terms.servers:
        notified = _notified(servers, server.name)
        found[server.name] = McpServer(server, terms, number, journal, alarms, notified)
        number += server.argv is not None
    return found


def _notified(servers: Servers, name: str) -> Callable[[str, Dict[str, Any]], None]:
    return lambda method, params: servers.notified(name, method, params)


class Engine:
    """One trial. `load` turns `module:function` into a custom fault's factory; `snapshot_argv` gives what starts the
    guest that calls a snapshot function, of its reference and a directory; `fixture_argv` what starts the one that
    answers decisions, and where, of its reference."""

    def __init__(
        self,
        load: Callable[[str], Any],
        snapshot_argv: Argv = _no_snapshots,
        fixture_argv: Optional[FixtureArgv] = None,
    ) -> None:
        self._load = load
        self._fixture_argv = fixture_argv
        self._snapshot_argv = snapshot_argv
        self._journal = Journal()
        self._alarms = Alarms(self._journal)
        self._peer = Peer(self._journal)
        self._trial: Optional[_Trial] = None
        self._handlers: Dict[type, Callable[[Any], None]] = {
            Control: self._control,
            Opened: lambda m: self._part.agent.opened(m.connection),
            Received: lambda m: self._part.agent.received(m.connection, m.data),
            HalfClosed: lambda m: self._part.agent.half_closed(m.connection),
            Closed: lambda m: self._part.agent.closed(m.connection),
            Listening: lambda m: self._part.setup.listening(m.addresses),
            ListeningStopped: lambda m: self._part.ending.listening_stopped(),
            Said: self._said,
            Ended: self._ended,
            LaunchFailed: self._launch_failed,
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
        elif frame_type in UPSTREAM_FRAMES and self._trial is not None:
            self._trial.agent.take_upstream(message.frame)
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
        self._trial = _Trial(
            terms, plan, self._journal, self._alarms, self._peer, self._snapshot_argv, self._fixture_argv
        )
        self._journal.do(Listen(terms.listen))
        if broken is not None:
            self._trial.setup.fail(f"{type(broken).__name__}: {broken}")
        else:
            self._trial.setup.start()

    def _said(self, message: Said) -> None:
        if self._trial is None:
            self._peer.said(message.data)
            return
        self._trial.agent.limits.count_bytes(len(message.data))
        process = self._trial.process(message.process)
        if process is not None:
            process.said(message.data)

    def _ended(self, message: Ended) -> None:
        """Of one that ended when all was told, nobody wants to know."""
        if self._trial is None:
            self._journal.trouble("environment", f"the environment ended by itself: {message.how}")
            self._peer.gone()
        elif not self._trial.ending.is_over:
            process = self._trial.process(message.process)
            if process is not None:
                process.ended(message.how)

    def _launch_failed(self, message: LaunchFailed) -> None:
        process = self._part.process(message.process)
        if process is not None:
            process.launch_failed(message.detail)

    def _due(self, key: Key) -> None:
        if key[0] == "peer":
            self._peer.overdue(key[1])
        else:
            self._alarms.due(key)
