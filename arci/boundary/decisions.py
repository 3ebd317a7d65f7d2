"""Decisions: each admitted request is a tool call `decision:systemone`, faulted, answered and recorded. Sans-io."""

from __future__ import annotations

from arci.boundary.decision_rules import answer_problem, request_problem
from arci.boundary.model_answer import value_of
from arci.boundary.model_delivery import Delivery
from arci.boundary.upstream_headers import asked as asked_headers
from arci.faults.settings import DECISION
from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple

    from arci.boundary.connections import Connection
    from arci.boundary.decision_fixture import Fixture
    from arci.boundary.http_exchange import Exchange
    from arci.boundary.journal import Journal
    from arci.boundary.limits import Limits
    from arci.boundary.numbering import Numbering
    from arci.boundary.outside import Outside
    from arci.boundary.replay import Replay
    from arci.boundary.terms import UpstreamTerms
    from arci.boundary.upstream_place import UpstreamPlace
    from arci.faults.call import Call
    from arci.faults.plan import FaultPlan, Met
    from arci.wire.http_request import Head

__all__ = ["TOOL", "Decisions"]

TOOL = "decision:systemone"
_JSON = [("content-type", "application/json")]


class _Decision:
    """One that was admitted, until its `tool_finish`."""

    __slots__ = ("body", "call", "delivery", "exchange", "injected_by", "is_over", "met", "number", "was_asked")

    def __init__(self, call: Call, exchange: Exchange, body: Dict[str, Any], met: list[Met]) -> None:
        self.call = call
        self.exchange = exchange
        self.body = body
        self.met = met
        self.delivery: Optional[Delivery] = None
        self.injected_by: Optional[str] = None
        self.number: Optional[int] = None  # of the host's request
        self.was_asked = False  # upstream or fixture
        self.is_over = False


class Decisions:
    """See `upstream_site.Upstream`."""

    def __init__(
        self,
        terms: UpstreamTerms,
        shapes: Any,
        journal: Journal,
        limits: Limits,
        plan: FaultPlan,
        numbering: Numbering,
        outside: Outside,
        fixture: Optional[Tuple[Fixture, int]],
        replay: Optional[Replay] = None,
    ) -> None:
        """`fixture`: whoever answers in place of the host's upstream, and the trial's seed for it. `replay`: the
        recording that answers in place of both."""
        self._replay = replay
        self.terms = terms
        self.shapes = shapes
        self._journal = journal
        self._limits = limits
        self._plan = plan
        self._numbering = numbering
        self._outside = outside
        self._fixture = fixture
        self._open: Dict[int, _Decision] = {}

    def head_problem(self, head: Head) -> Optional[Tuple[int, str]]:
        if not head.get("content-length"):
            return 411, "Content-Length is required"
        if int(head.get("content-length")) > self.terms.max_body_bytes:
            return 413, f"a body may have {self.terms.max_body_bytes} bytes"
        return (417, "Expect is not served") if head.all("expect") else None

    def refuse_body(self, connection: Connection, exchange: Exchange, detail: str) -> None:
        self._refuse(exchange, 422, detail)

    def take(self, exchange: Exchange, place: UpstreamPlace, data: bytes, body: Dict[str, Any]) -> None:
        problem = request_problem(body)
        pin = self.terms.model
        if problem is None and pin is not None and body["model"] != pin:
            problem = f"model: {body['model']!r} was asked; this experiment pins {pin!r}"
        if problem is not None:
            self._refuse(exchange, 422, problem)
            return
        over = self._limits.latched or self._limits.admit_decision(self.terms.max_decisions)
        if over is not None:
            self._refuse(exchange, 403, over)
            return
        self._begin(exchange, place, data, body)

    def settle(self) -> None:
        """The agent is gone: nobody waits for what is still open."""
        for decision in list(self._open.values()):
            self._given_up(decision)
            decision.exchange.cut()

    def _begin(self, exchange: Exchange, place: UpstreamPlace, data: bytes, body: Dict[str, Any]) -> None:
        call = self._numbering.next(TOOL, body)
        decision = _Decision(call, exchange, body, self._plan.met(call, DECISION))
        self._open[call.call_id] = decision
        self._journal.event("tool_start", **_identity(call), arguments=body)
        exchange.when_hung_up(lambda: self._given_up(decision))
        refusal = self._limits.admit_call(TOOL)
        if refusal is not None:
            self._fail(decision, 403, refusal.kind or "refused", refusal.detail)
            return
        if self._replay is not None:
            self._serve(decision, self._replay)
            return
        status = self._before(decision)
        if status is not None:
            self._fail(decision, status, "error", "Overloaded")
        else:
            self._ask(decision, place, data)

    def _serve(self, decision: _Decision, replay: Replay) -> None:
        """Answer out of a recording, as the agent got it then."""
        found = replay.take("tool", TOOL, decision.body)
        if found is None:
            detail = "the recording that is replayed has no answer to this decision"
            self._fail(decision, 502, "environment", detail)
            return
        decision.injected_by, value = found["injected_by"], found["value"]
        for fault in found["injections"]:
            self._journal.event("injection", **fault, **_identity(decision.call))
        status = found.get("status") or 502
        if found["ok"]:
            self._finish(decision, True, value, None)
            decision.exchange.respond(200, dumps(value).encode("utf-8", "backslashreplace"))
        elif found["error_kind"] == "error" and decision.injected_by is None:  # what an upstream said itself
            self._finish(decision, False, value, "error", status)
            decision.exchange.respond(status, str(value).encode("utf-8", "backslashreplace"))
        elif found["error_kind"] != "cancelled":
            shown = None if decision.injected_by else "the upstream gave no answer"
            self._fail(decision, status, found["error_kind"], str(value), shown=shown)

    def _before(self, decision: _Decision) -> Optional[int]:
        """The status that a fault answers in place of the upstream, or None."""
        for fault in decision.met:
            status: Optional[int] = fault.hooks.before()
            if status is not None:
                self._injected(decision, fault)
                return status
        return None

    def _ask(self, decision: _Decision, place: UpstreamPlace, data: bytes) -> None:
        delivery = Delivery(decision.exchange, True, lambda failure, detail: self._ended(decision, failure, detail))
        decision.delivery, decision.was_asked = delivery, True
        if self._fixture is None:
            head = decision.exchange.head
            assert head is not None
            headers, text = asked_headers(head), data.decode("utf-8")
            decision.number = self._outside.ask(self.terms.name, "POST", place.path, headers, text, delivery)
            return
        fixture, seed = self._fixture
        fixture.ask(decision.body, seed, decision.call.occurrence, self._told(decision, delivery))

    def _told(self, decision: _Decision, delivery: Delivery) -> Callable[[Optional[Dict[str, Any]], str], None]:
        def told(answer: Optional[Dict[str, Any]], problem: str) -> None:
            if decision.is_over:
                return
            if answer is None:
                self._broken(decision, f"decision fixture: {problem}")
                return
            defaults = {"model": self.terms.model, "usage": {"input_tokens": 0, "output_tokens": 0}}
            delivery.local(200, _JSON, dumps({**defaults, **answer}).encode("utf-8", "backslashreplace"))

        return told

    def _ended(self, decision: _Decision, failure: Optional[str], detail: str) -> None:
        delivery = decision.delivery
        assert delivery is not None
        if failure is not None:
            kind = "timeout" if failure == "timeout" else "environment"
            self._fail(decision, 502, kind, f"{failure}: {detail}", shown="the upstream gave no answer")
        elif delivery.status != 200:
            text = delivery.body.decode("utf-8", "replace")[:65536]
            self._finish(decision, False, text, "error", delivery.status)
            delivery.finish()
        else:
            self._judge(decision, delivery)

    def _judge(self, decision: _Decision, delivery: Delivery) -> None:
        """Give a valid answer, as faults leave it."""
        body = value_of(delivery.body)
        problem = answer_problem(body, decision.body, self.terms.model)
        if problem is not None:
            self._broken(decision, f"{self.terms.name}: the answer cannot be used: {problem}")
            return
        answers = body["answers"]
        for fault in decision.met:
            changed = fault.hooks.after(answers)
            if changed is not None:
                answers = changed
                self._injected(decision, fault)
        if answers is not body["answers"]:
            body = {**body, "answers": answers}
            delivery.pieces = [dumps(body).encode("utf-8", "backslashreplace")]
        self._finish(decision, True, body, None)
        delivery.finish()

    def _broken(self, decision: _Decision, detail: str) -> None:
        """Whoever decides is at fault, and not the agent: the trial is void."""
        self._journal.trouble("environment", detail)
        self._fail(decision, 502, "environment", detail, shown="the decision could not be made")

    def _given_up(self, decision: _Decision) -> None:
        """The agent hung up, or is gone."""
        if decision.is_over:
            return
        if decision.number is not None:
            self._outside.cancel(decision.number)
        self._journal.event("cancelled", tool=TOOL, call_id=decision.call.call_id)
        self._finish(decision, False, "cancelled by the agent", "cancelled")

    def _fail(self, decision: _Decision, status: int, kind: str, detail: str, shown: Optional[str] = None) -> None:
        self._finish(decision, False, detail, kind, status)
        self._refuse(decision.exchange, status, shown or detail)

    def _refuse(self, exchange: Exchange, status: int, detail: str) -> None:
        exchange.respond(status, self.shapes.error(status, detail))

    def _injected(self, decision: _Decision, fault: Met) -> None:
        decision.injected_by = fault.name
        about = _identity(decision.call)
        self._journal.event("injection", fault=fault.name, fault_index=fault.index, **about)

    def _finish(
        self, decision: _Decision, ok: bool, value: Any, kind: Optional[str], status: Optional[int] = None
    ) -> None:
        decision.is_over = True
        del self._open[decision.call.call_id]
        about = {"ok": ok, "value": value, "error_kind": kind, "injected_by": decision.injected_by}
        self._journal.event(
            "tool_finish", **_identity(decision.call), **about, status=status, executed=decision.was_asked
        )


def _identity(call: Call) -> Dict[str, Any]:
    return {"tool": call.tool, "call_id": call.call_id, "occurrence": call.occurrence}
