"""Tool calls: numbered by arrival, judged, faulted, executed, answered and recorded. Sans-io."""

from __future__ import annotations

from arci.boundary.asked import GONE, LATE, OVERDUE, UNSENT
from arci.boundary.asking import Opened
from arci.boundary.era import is_input_required
from arci.boundary.outcome import answer_of, identity, kept_result, recorded
from arci.boundary.retries import Retries
from arci.faults.answer import Answer
from arci.faults.plan import FaultBroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from arci.boundary.alarms import Alarms
    from arci.boundary.asked import OnProgress
    from arci.boundary.asking import Asking
    from arci.boundary.journal import Journal
    from arci.boundary.limits import Limits
    from arci.boundary.numbering import Numbering
    from arci.boundary.replay import Replay
    from arci.boundary.servers import Servers, Target
    from arci.faults.plan import FaultPlan
    from arci.wire.jsonrpc import Response

    Cancel = Callable[[str], None]

__all__ = ["Calls"]


class Calls:
    """Every tool call of the trial."""

    def __init__(
        self,
        journal: Journal,
        limits: Limits,
        plan: FaultPlan,
        servers: Servers,
        alarms: Alarms,
        tool_s: float,
        numbering: Numbering,
    ) -> None:
        """`tool_s`: seconds one execution may take."""
        self._journal = journal
        self._limits = limits
        self._plan = plan
        self._servers = servers
        self._alarms = alarms
        self._tool_s = tool_s
        self._numbering = numbering
        self._earlier: Dict[str, Answer] = {}
        self._held: Dict[int, Opened] = {}
        self._retries = Retries()

    def arrive(self, asking: Asking) -> Optional[Cancel]:
        """A call of the agent; what cancels it, unless it was answered without a trace."""
        if self._limits.latched is not None:
            asking.deliver(self._limits.latched_answer(self._limits.latched))
            return None
        target = self._servers.resolve(asking.server, asking.tool)
        resumed = self._retries.resumed(asking, target) if asking.is_retry else None
        if resumed is not None:
            self._send(resumed)
            return lambda reason: self._cancel(resumed, reason)
        opened = self._begin(asking, target, asking.arguments)
        refusal = self._limits.admit_call(opened.call.tool)
        if refusal is not None:
            self._finish(opened, refusal)
        elif self._servers.replay is not None:
            self._serve(opened, self._servers.replay, asking.arguments)
        elif target is None:
            self._note_hidden(asking)
            self._finish(opened, Answer.failure("error", f"unknown tool {asking.tool!r}"))
        else:
            self._execute(opened)
        return lambda reason: self._cancel(opened, reason)

    def arrive_unread(self, asking: Asking, shown: Dict[str, Any], detail: str) -> None:
        """A call that is too long to be read: counted, recorded with what is `shown` of it, refused."""
        if self._limits.latched is not None:
            asking.deliver(self._limits.latched_answer(self._limits.latched))
            return
        opened = self._begin(asking, self._servers.resolve(asking.server, asking.tool), shown)
        refusal = self._limits.admit_call(opened.call.tool)
        if refusal is None and self._servers.replay is not None:
            self._serve(opened, self._servers.replay, shown)
        else:
            self._finish(opened, refusal or Answer.failure("error", detail))

    def settle(self) -> None:
        """The agent is gone: answers that faults hold back are recorded now, and calls that wait for more of it end."""
        for call_id in list(self._held):
            self._due(call_id)
        for opened in self._retries.take_all():
            self._finish(opened, Answer.failure("error", "the server asked for input that was never given"))

    def _begin(self, asking: Asking, target: Optional[Target], arguments: Dict[str, Any]) -> Opened:
        tool = asking.tool if target is None else target.key
        call = self._numbering.next(tool, asking.arguments, self._earlier.get(tool))
        self._journal.event("tool_start", **identity(call), arguments=arguments)
        return Opened(call, asking, target, self._plan.meet(call))

    def _note_hidden(self, asking: Asking) -> None:
        if self._servers.is_hidden_tool(asking.server, asking.tool):
            self._journal.protocol(f"tools/call: {asking.tool[:80]!r} is hidden from the agent")

    def _serve(self, opened: Opened, replay: Replay, arguments: Dict[str, Any]) -> None:
        """Answer out of a recording, faults and all. What the agent did not wait for then is held until it is gone."""
        found = replay.call(opened.call.tool, arguments)
        opened.encounter.injected, opened.encounter.injected_by = found.injected, found.injected_by
        opened.then = lambda: replay.tell(found.told_after, None)
        replay.tell(found.told, self._progress(opened))
        self._record_injections(opened)
        if found.is_held:
            opened.answer = found.answer
            self._held[opened.call.call_id] = opened
        else:
            self._finish(opened, found.answer)

    def _execute(self, opened: Opened) -> None:
        try:
            failure = opened.encounter.before()
        except FaultBroken as error:
            self._broken(opened, error)
            return
        self._record_injections(opened)
        if failure is not None:
            self._hold(opened, Answer.failure(failure.kind, failure.detail), failure.after_ms)
        else:
            self._send(opened)

    def _send(self, opened: Opened) -> None:
        target, asking = opened.target, opened.asking
        assert target is not None
        params = {"name": target.name, "arguments": asking.arguments, **asking.extra}
        handle = self._servers.request(
            target.server,
            "tools/call",
            params,
            self._tool_s,
            lambda how, frame: self._answered(opened, how, frame),
            self._progress(opened),
        )
        if not opened.is_over:
            opened.handle = handle

    def _progress(self, opened: Opened) -> Optional[OnProgress]:
        return self._journal.progress(opened.asking.on_progress, tool=opened.call.tool, call_id=opened.call.call_id)

    def _answered(self, opened: Opened, how: str, frame: Optional[Response]) -> None:
        opened.executed = how != UNSENT
        tool = opened.call.tool
        if opened.is_over:
            self._record_late(opened, frame)
        elif how == OVERDUE:
            self._finish(opened, Answer.failure("timeout", f"tool {tool!r} did not answer in time"))
        elif how in (GONE, UNSENT) or frame is None:
            self._finish(opened, Answer.failure("environment", "the environment is gone"))
        elif how == LATE:
            self._record_late(opened, frame)
        else:
            self._given(opened, frame)

    def _given(self, opened: Opened, frame: Response) -> None:
        """The environment answered in time: with a result, or by asking for more input."""
        if not isinstance(frame.result, dict) or not is_input_required(frame.result):
            self._apply_after(opened, answer_of(frame, opened.target))
        elif opened.asking.may_retry and self._retries.put(opened, frame.result):
            opened.asking.deliver(Answer(frame.result, frame.raw))
        else:
            self._finish(opened, Answer.failure("error", "the server asked for input that the client cannot give"))

    def _apply_after(self, opened: Opened, answer: Answer) -> None:
        if answer.ok and self._plan.wants_earlier(opened.call.tool):
            self._earlier[opened.call.tool] = answer
        try:
            changed, delay_ms = opened.encounter.after(answer)
        except FaultBroken as error:
            self._broken(opened, error)
            return
        self._record_injections(opened)
        self._hold(opened, changed, delay_ms)

    def _hold(self, opened: Opened, answer: Answer, delay_ms: float) -> None:
        if delay_ms <= 0:
            self._finish(opened, answer)
            return
        opened.answer = answer
        call_id = opened.call.call_id
        self._held[call_id] = opened
        self._alarms.after("call", delay_ms / 1000, lambda: self._due(call_id))

    def _due(self, call_id: int) -> None:
        """The wait of a held answer is over."""
        opened = self._held.pop(call_id, None)
        if opened is not None and opened.answer is not None:
            self._finish(opened, opened.answer)

    def _cancel(self, opened: Opened, reason: str) -> None:
        """The agent gives up: the server is told once, and what it still answers is late."""
        if opened.is_over:
            return
        opened.is_over = True
        self._held.pop(opened.call.call_id, None)
        self._retries.drop(opened)
        opened.executed = opened.handle is not None
        self._journal.event("cancelled", tool=opened.call.tool, call_id=opened.call.call_id)
        if opened.handle is not None and opened.answer is None:
            opened.handle.cancel(reason)
        opened.handle = None
        self._record_finish(opened, Answer.failure("cancelled", "cancelled by the agent"))
        opened.then()

    def _broken(self, opened: Opened, error: FaultBroken) -> None:
        """A custom fault is the user's own code, like the environment: the trial is void, not failed."""
        self._journal.trouble("environment", str(error))
        self._finish(opened, Answer.failure("environment", "a fault of this trial is broken"))

    def _record_injections(self, opened: Opened) -> None:
        injected, opened.encounter.injected = opened.encounter.injected, []
        for name, index in injected:
            self._journal.event("injection", fault=name, fault_index=index, **identity(opened.call))

    def _record_late(self, opened: Opened, frame: Optional[Response]) -> None:
        if frame is not None:
            answer = answer_of(frame, opened.target)
            self._journal.event("tool_late", **identity(opened.call), ok=answer.ok, value=recorded(answer))

    def _finish(self, opened: Opened, answer: Answer) -> None:
        opened.is_over = True
        opened.handle = None  # it holds on to the call, and megabytes must not wait for a collector of cycles
        self._record_finish(opened, answer)
        opened.asking.deliver(answer)
        opened.then()

    def _record_finish(self, opened: Opened, answer: Answer) -> None:
        self._journal.event(
            "tool_finish",
            **identity(opened.call),
            ok=answer.ok,
            value=recorded(answer),
            error_kind=answer.kind,
            injected_by=opened.encounter.injected_by,
            executed=opened.executed,
            **kept_result(answer, opened.target),
            **({"heard": False} if self._journal.agent_is_gone else {}),
        )
