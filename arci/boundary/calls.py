"""Tool calls: numbered by arrival, judged, faulted, executed, answered and recorded. Sans-io."""

from __future__ import annotations

from arci.boundary.message import Wake
from arci.boundary.peer import GONE, LATE, OVERDUE, UNSENT
from arci.faults.answer import Answer
from arci.faults.call import Call
from arci.faults.plan import FaultBroken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from arci.boundary.journal import Journal
    from arci.boundary.limits import Limits
    from arci.boundary.peer import Peer
    from arci.faults.plan import Encounter, FaultPlan
    from arci.wire.jsonrpc import Response

    Deliver = Callable[[Answer], None]

__all__ = ["Calls"]


class _Open:
    """A call that was not answered yet."""

    __slots__ = ("answer", "call", "deliver", "encounter", "executed")

    def __init__(self, call: Call, deliver: Deliver, encounter: Encounter) -> None:
        self.call = call
        self.deliver = deliver
        self.encounter = encounter
        self.executed = False
        self.answer: Optional[Answer] = None  # what the agent will get, where a fault holds it back


class Calls:
    """Every tool call of the trial."""

    def __init__(
        self,
        journal: Journal,
        limits: Limits,
        plan: FaultPlan,
        peer: Peer,
        knows: Callable[[str], bool],
        tool_s: float,
    ) -> None:
        """`knows`: whether there is such a tool. `tool_s`: seconds one execution may take."""
        self._journal = journal
        self._knows = knows
        self._limits = limits
        self._plan = plan
        self._peer = peer
        self._tool_s = tool_s
        self._count = 0
        self._occurrences: Dict[str, int] = {}
        self._earlier: Dict[str, Answer] = {}
        self._held: Dict[int, _Open] = {}

    def arrive(self, tool: str, arguments: Dict[str, Any], deliver: Deliver) -> None:
        """A call of the agent. `deliver(answer)` is called once, at once or later."""
        if self._limits.latched is not None:
            deliver(self._limits.latched_answer(self._limits.latched))
            return
        call = self._numbered(tool, arguments)
        self._journal.event("tool_start", **_identity(call), arguments=arguments)
        refusal = self._limits.admit_call(tool)
        opened = _Open(call, deliver, self._plan.meet(call))
        if refusal is not None:
            self._finish(opened, refusal)
        elif not self._knows(tool):
            self._finish(opened, Answer.failure("error", f"unknown tool {tool!r}"))
        else:
            self._execute(opened)

    def due(self, call_id: int) -> None:
        """The wait of a held answer is over."""
        opened = self._held.pop(call_id, None)
        if opened is not None and opened.answer is not None:
            self._finish(opened, opened.answer)

    def settle(self) -> None:
        """The agent is gone: answers that faults hold back are recorded now."""
        for call_id in list(self._held):
            self.due(call_id)

    def _numbered(self, tool: str, arguments: Dict[str, Any]) -> Call:
        call = Call(tool, arguments, self._occurrences.get(tool, 0), self._count, self._earlier.get(tool))
        self._occurrences[tool] = call.occurrence + 1
        self._count += 1
        return call

    def _execute(self, opened: _Open) -> None:
        try:
            failure = opened.encounter.before()
        except FaultBroken as error:
            self._broken(opened, error)
            return
        self._record_injections(opened)
        if failure is not None:
            self._hold(opened, Answer.failure(failure.kind, failure.detail), failure.after_ms)
            return
        params = {"name": opened.call.tool, "arguments": opened.call.arguments}
        self._peer.ask("tools/call", params, self._tool_s, lambda how, frame: self._answered(opened, how, frame))

    def _answered(self, opened: _Open, how: str, frame: Optional[Response]) -> None:
        opened.executed = how != UNSENT
        tool = opened.call.tool
        if how == OVERDUE:
            self._finish(opened, Answer.failure("timeout", f"tool {tool!r} did not answer in time"))
        elif how in (GONE, UNSENT) or frame is None:
            self._finish(opened, Answer.failure("environment", "the environment is gone"))
        elif how == LATE:
            answer = _answer_of(frame)
            self._journal.event("tool_late", **_identity(opened.call), ok=answer.ok, value=_recorded(answer))
        else:
            self._apply_after(opened, _answer_of(frame))

    def _apply_after(self, opened: _Open, answer: Answer) -> None:
        if answer.ok and self._plan.wants_earlier(opened.call.tool):
            self._earlier[opened.call.tool] = answer
        try:
            changed, delay_ms = opened.encounter.after(answer)
        except FaultBroken as error:
            self._broken(opened, error)
            return
        self._record_injections(opened)
        self._hold(opened, changed, delay_ms)

    def _hold(self, opened: _Open, answer: Answer, delay_ms: float) -> None:
        if delay_ms <= 0:
            self._finish(opened, answer)
            return
        opened.answer = answer
        self._held[opened.call.call_id] = opened
        self._journal.do(Wake(("call", opened.call.call_id), self._journal.now_s + delay_ms / 1000))

    def _broken(self, opened: _Open, error: FaultBroken) -> None:
        """A custom fault is the user's own code, like the environment: the trial is void, not failed."""
        self._journal.trouble("environment", str(error))
        self._finish(opened, Answer.failure("environment", "a fault of this trial is broken"))

    def _record_injections(self, opened: _Open) -> None:
        injected, opened.encounter.injected = opened.encounter.injected, []
        for name, index in injected:
            self._journal.event("injection", fault=name, fault_index=index, **_identity(opened.call))

    def _finish(self, opened: _Open, answer: Answer) -> None:
        self._journal.event(
            "tool_finish",
            **_identity(opened.call),
            ok=answer.ok,
            value=_recorded(answer),
            error_kind=answer.kind,
            injected_by=opened.encounter.injected_by,
            executed=opened.executed,
        )
        opened.deliver(answer)


def _identity(call: Call) -> Dict[str, Any]:
    return {"tool": call.tool, "call_id": call.call_id, "occurrence": call.occurrence}


def _recorded(answer: Answer) -> Any:
    """What a record keeps of an answer: the value, or the text of the failure."""
    return answer.value if answer.ok else answer.detail


def _answer_of(frame: Response) -> Answer:
    """The environment's answer. A JSON-RPC error of it is data like any other failure."""
    if frame.error is not None:
        return Answer.failure("error", str(frame.error.get("message", "error without a message")))
    if not isinstance(frame.result, dict):
        return Answer.failure("error", "the environment answered without a result")
    if "content" in frame.result or frame.result.get("isError") is True:
        return Answer(frame.result)
    return Answer.of(Answer(frame.result).value)
