"""Everything that the agent meets, put together: connections, what is asked over them, calls, limits. Sans-io.

The engine builds one when the trial begins, hands it what happens on connections, and asks it at the end. What it asks
of the environment goes through `Servers`; what is told to the host, through the journal.
"""

from __future__ import annotations

from arci.boundary.calls import Calls
from arci.boundary.connections import Connections
from arci.boundary.doors import Doors
from arci.boundary.intake import Intake
from arci.boundary.introductions import Introductions
from arci.boundary.limits import Limits
from arci.boundary.mcp import McpRequests
from arci.boundary.notices import Notices
from arci.boundary.numbering import Numbering
from arci.boundary.relay import Relay
from arci.boundary.rpc import Dispatch
from arci.boundary.status import Status
from arci.boundary.tools import ToolRequests
from arci.boundary.worker import WorkerRequests, latched_notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Union

    from arci.boundary.alarms import Alarms
    from arci.boundary.connections import Connection
    from arci.boundary.decision_fixture import Fixture, FixtureArgv
    from arci.boundary.http_port import HttpPort
    from arci.boundary.http_site import HttpSite
    from arci.boundary.journal import Journal
    from arci.boundary.servers import Servers
    from arci.boundary.terms import Terms
    from arci.boundary.upstream_side import UpstreamSide
    from arci.faults.plan import FaultPlan

__all__ = ["AgentSide"]


class AgentSide:
    """How the engine uses it: each of `opened`, `received`, `half_closed` and `closed` for the message of that name
    (bytes of `environment` connections too: they are handed on to `Servers.said`, and counted here as traffic), and at
    the end `count`, `close_all` and `settle`. It sets `servers.on_notification`.
    """

    def __init__(
        self,
        journal: Journal,
        terms: Terms,
        plan: FaultPlan,
        servers: Servers,
        alarms: Alarms,
        fixture_argv: Optional[FixtureArgv] = None,
    ) -> None:
        """`fixture_argv`: what starts the guest that answers decisions, and where, of the function's reference."""
        numbering = Numbering()
        self.limits = Limits(terms, journal, self._latched)
        servers.when_ready(lambda is_ready: self._name_tools(plan, servers))  # first: calls may wait for the same
        self._calls = Calls(journal, self.limits, plan, servers, alarms, terms.tool_s, numbering)
        introductions, notices = Introductions(servers), Notices()
        tools = ToolRequests(self._calls, servers, introductions)
        worker = WorkerRequests(journal, terms, self.limits, servers, tools)
        mcp = McpRequests(introductions, tools, Relay(journal, self.limits, servers, tools, terms.tool_s))
        intake = Intake(lambda go_on: _soon(alarms, go_on))
        dispatches = {
            "mcp": Dispatch(intake, mcp.take, tools.too_long, worker.notifications),
            "worker": Dispatch(intake, worker.take, tools.too_long, worker.notifications),
        }
        self._upstreams: Optional[UpstreamSide] = None
        if terms.upstreams:
            from arci.boundary.upstream_side import UpstreamSide  # most trials have none

            parts = (journal, terms, plan, self.limits, alarms, numbering)
            self._upstreams = UpstreamSide(*parts, fixture_argv, servers.replay)

        def port() -> Union[HttpSite, HttpPort]:
            from arci.boundary.http_site import HttpSite  # a millisecond, which not every trial needs

            site = HttpSite(terms.agent_token, servers, dispatches["mcp"], intake, self._answered)
            if self._upstreams is None:
                return site
            from arci.boundary.http_port import HttpPort

            return HttpPort(site, self._upstreams.site, intake, self._answered)

        doors = Doors(servers, Status(journal), dispatches, notices, port, intake, self._answered)
        self.connections = Connections(journal, _tokens(terms), doors)
        servers.on_notification = notices.told
        if servers.replay is not None:
            servers.replay.notified = servers.notified
            notices.on_arrival = servers.replay.tell_arrived

    @property
    def count(self) -> int:
        """Connections over which the agent's container may still say something: not those of `environment`, and no
        half-closed ones, whose calls are the environment's to end."""
        return self.connections.count

    def opened(self, connection: int) -> None:
        self.connections.opened(connection)

    def received(self, connection: int, data: bytes) -> None:
        self.limits.count_bytes(len(data))
        self.connections.received(connection, data)

    def half_closed(self, connection: int) -> None:
        self.connections.half_closed(connection)

    def closed(self, connection: int) -> None:
        self.connections.closed(connection)

    def close_all(self) -> None:
        """End every connection that `count` counts."""
        self.connections.close_all()

    def settle(self) -> None:
        """The agent is gone: answers that faults hold back, and calls that wait for more of it, are recorded now.

        Calls that the environment has not answered are ended by whoever ends the environment.
        """
        self._calls.settle()
        if self._upstreams is not None:
            self._upstreams.settle()

    def take_upstream(self, frame: Dict[str, Any]) -> None:
        """A frame of the host about a request to an upstream."""
        if self._upstreams is not None:
            self._upstreams.take(frame)

    @property
    def fixture(self) -> Optional[Fixture]:
        """Whoever wants to know of the process `decision_fixture.FIXTURE`."""
        return None if self._upstreams is None else next(iter(self._upstreams.fixtures), None)

    def _answered(self, connection: Connection) -> None:
        self.connections.answered(connection)

    def _latched(self, detail: str) -> None:
        latched_notice(self.connections.of_kind("worker"), detail)

    def _name_tools(self, plan: FaultPlan, servers: Servers) -> None:
        """Only now is it known which tool names several servers share."""
        plan.name_tools(servers.canonical)
        self.limits.name_tools(servers.canonical)


def _soon(alarms: Alarms, ring: Callable[[], None]) -> None:
    alarms.after("intake", 0, ring)


def _tokens(terms: Terms) -> Dict[str, str]:
    """Kind of connection -> the token of its hello."""
    tokens = {"status": terms.status_token, "mcp": terms.agent_token, "worker": terms.agent_token}
    return tokens if terms.environment_token is None else {**tokens, "environment": terms.environment_token}
