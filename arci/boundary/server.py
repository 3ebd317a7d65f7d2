"""One MCP server of the trial, from its start to its end, whether the recorder started it or it connects. Sans-io."""

from __future__ import annotations

from arci.boundary.about import About
from arci.boundary.inbound import GLUED_S
from arci.boundary.link import Link
from arci.boundary.message import Ask, EndInput, Signal
from arci.boundary.server_process import launch_of
from arci.boundary.snapshot import ask_for_state
from arci.boundary.startup import Startup
from arci.boundary.stop_order import KILL, StopOrder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from arci.boundary.alarms import Alarms
    from arci.boundary.asked import Asked, Done, OnProgress
    from arci.boundary.connections import Connection
    from arci.boundary.inbound import OnNotification
    from arci.boundary.journal import Journal
    from arci.boundary.source import TellStarted, TellState
    from arci.boundary.terms import ServerTerms, Terms

__all__ = ["McpServer"]


class McpServer:
    """See `source.Source`."""

    def __init__(
        self,
        terms: ServerTerms,
        trial: Terms,
        number: int,
        journal: Journal,
        alarms: Alarms,
        on_notification: OnNotification,
    ) -> None:
        """`number`: which of those with an argv it is, from 0."""
        self.name = terms.name
        self.about = About("legacy", "", {"tools": {}}, {}, None)
        self.tools: List[Dict[str, Any]] = []
        self._how = terms.snapshot or {"kind": None}
        self.hidden_tool: Optional[str] = self._how.get("tool")
        self.hidden_uri: Optional[str] = self._how.get("uri")
        self._terms = terms
        self._trial = trial
        self._number = number
        self._journal = journal
        self._alarms = alarms
        self._connection: Optional[Connection] = None
        self._link = Link(terms.name, journal, alarms, self._send, on_notification)
        self._link.inbound.on_glued = self._glued
        self._link.inbound.on_flood = self._flooded
        self._startup = Startup(self._link, alarms, trial.setup_s, self._answered)
        self._tell_started: Optional[TellStarted] = None
        self._has_restarted = False
        self._is_broken = False
        self._is_gone = False
        self._stop: Optional[StopOrder] = None

    @property
    def is_busy(self) -> bool:
        return self._link.is_busy

    # Its start

    def start(self, tell: TellStarted) -> None:
        self._tell_started = tell
        if self._terms.argv is None:
            self._alarms.after("connect", self._trial.setup_s, self._connect_overdue)
        else:
            self._journal.do(launch_of(self._terms, self._trial, self._number))
            self._startup.start()

    def connected(self, connection: Connection) -> bool:
        """Its container's `arci-init` has connected; False for a second one, and where none is expected."""
        if self._terms.argv is not None or self._connection is not None or self._stop is not None:
            return False
        self._connection = connection
        self._startup.start()
        return True

    def _connect_overdue(self) -> None:
        if self._connection is None:
            self._started(f"it did not connect within setup_seconds ({self._trial.setup_s:g} s)")

    def _answered(self, about: Optional[About], tools: List[Dict[str, Any]], problem: str) -> None:
        if about is None:
            self._started(problem)
        elif self.hidden_tool is not None and all(t["name"] != self.hidden_tool for t in tools):
            self._started(f"snapshot: it has no tool {self.hidden_tool!r}")
        else:
            self.about = about
            self.tools = [tool for tool in tools if tool["name"] != self.hidden_tool]
            self._started(None)

    def _started(self, problem: Optional[str]) -> None:
        tell, self._tell_started = self._tell_started, None
        if tell is not None:
            tell(problem)

    # Requests

    def request(
        self, method: str, params: Dict[str, Any], seconds: float, done: Done, on_progress: Optional[OnProgress] = None
    ) -> Asked:
        asked = self._link.request(method, params, seconds, done, on_progress)
        asked.is_of_agent = True
        return asked

    def cancel(self, asked: Asked, reason: str) -> None:
        self._link.cancel(asked, reason)

    def drop_unsent(self) -> None:
        """Every request is sent at once."""

    def give_up(self) -> None:
        self._link.give_up()

    def snapshot(self, seconds: float, tell: TellState) -> None:
        if self._how["kind"] in ("tool", "resource"):
            if self._is_gone or self._is_broken:
                tell(None, "")  # its death was told when it was seen
            else:
                ask_for_state(self._link, self._how, seconds, tell)
        else:
            tell({}, None)

    def said(self, data: bytes) -> None:
        if not self._is_broken:
            self._link.said(data)

    # Its end

    def stop(self, tell: Callable[[], None]) -> None:
        def over(steps: List[str], how: str) -> None:
            self._record_end(steps, how)
            tell()

        self._stop = StopOrder(self._alarms, self._end_input, self._signal if self._terms.argv else None, over)
        if self._is_gone or (self._terms.argv is None and self._connection is None):
            tell()
        else:
            self._stop.start()

    def ended(self, how: str) -> None:
        self._is_gone = True
        if self._stop is not None:
            self._link.gone()
            self._stop.ended(how)
        elif self._startup.is_shaking_hands and self._terms.argv is not None and not self._has_restarted:
            self._restart()
        else:
            self._record_end(["KILL"] if self._is_broken else [], how)
            self._broken(f"ended by itself: {how}", "" if self._terms.argv is None else how)

    def closed(self) -> None:
        """The connection of its container has ended."""
        self.ended("its connection was closed")

    def launch_failed(self, detail: str) -> None:
        self._is_gone = True
        self._link.gone()
        self._started(f"it could not be started: {detail}")

    def _restart(self) -> None:
        """It may be one of those that end when the first they hear is not `initialize`."""
        self._has_restarted, self._is_gone = True, False
        self._link.restarted()
        self._journal.do(launch_of(self._terms, self._trial, self._number))
        self._startup.start(is_legacy=True)

    def _glued(self, id: int, line: str) -> None:
        """Output without a line end came before an answer: nobody can tell them apart for certain."""

        def check() -> None:
            if self._link.is_open(id):
                self._broken(f"wrote other output and an answer on one line: {line!r}")

        self._alarms.after("glued", GLUED_S, check)

    def _flooded(self, detail: str) -> None:
        self._broken(f"{detail}; it was killed")
        self._signal(KILL)

    def _broken(self, detail: str, how: str = "") -> None:
        """It cannot be used any more: told once, and nobody waits for it. `how` it ended, where that is known here."""
        if not self._is_broken:
            self._is_broken = True
            about = {"server": self.name, "during_call": self._link.serves_agent, **({"how": how} if how else {})}
            self._journal.trouble("environment", f"server {self.name!r} {detail}", **about)
            self._link.gone()
            self._started("")

    def _record_end(self, steps: List[str], how: str) -> None:
        noise = self._link.inbound.noise
        self._journal.event("environment_end", server=self.name, steps=steps, how=how, noise=noise)

    # The way to it

    def _send(self, data: bytes) -> None:
        if self._connection is not None:
            self._connection.send(data)
        elif self._terms.argv is not None and not self._is_gone:
            self._journal.do(Ask(self.name, data))

    def _end_input(self) -> None:
        if self._connection is not None:
            self._connection.end_output()
        else:
            self._journal.do(EndInput(self.name))

    def _signal(self, number: int) -> None:
        if self._connection is not None:
            self._connection.end_output()  # its `arci-init` ends it then
        else:
            self._journal.do(Signal(self.name, number))
