"""Calls of models: admitted, numbered, faulted, relayed and recorded. Sans-io; knows no provider."""

from __future__ import annotations

from arci.boundary.model_call import Disturbance, ModelCall, is_pinned
from arci.boundary.model_delivery import Delivery, beginning_of
from arci.boundary.model_record import capped, capped_calls, digest, error_kind, kept_body, messages_digest, shown
from arci.boundary.numbering import Numbering
from arci.boundary.prices import cost_usd, estimated_tokens
from arci.boundary.replay_model import is_held, play
from arci.faults.model_action import Empty, Malform, Refuse, Stall
from arci.faults.settings import MODEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.boundary.alarms import Alarms
    from arci.boundary.journal import Journal
    from arci.boundary.limits import Limits
    from arci.boundary.model_answer import ModelAnswer
    from arci.boundary.model_call import Asked
    from arci.boundary.outside import Outside
    from arci.boundary.replay import Replay
    from arci.faults.plan import FaultPlan

__all__ = ["ModelCalls"]

_JSON = ("content-type", "application/json")
_EVENTS = ("content-type", "text/event-stream")


class ModelCalls:
    """Every call of a model in the trial."""

    def __init__(
        self,
        journal: Journal,
        limits: Limits,
        plan: FaultPlan,
        alarms: Alarms,
        outside: Outside,
        replay: Optional[Replay] = None,
    ) -> None:
        """`replay`: the recording that answers in place of `outside`."""
        self._replay = replay
        self._journal = journal
        self._limits = limits
        self._plan = plan
        self._alarms = alarms
        self._outside = outside
        self._numbering = Numbering()
        self._open: Dict[int, ModelCall] = {}

    def arrive(self, asked: Asked) -> None:
        """Answers `asked.exchange`, at once or later. What is over budget leaves no record but the latch."""
        pin = asked.upstream.model
        if self._limits.latched is not None:
            asked.refuse(403, self._limits.latched)
        elif pin is not None and asked.model != pin:
            detail = f"model {asked.model!r} was asked; this experiment pins {pin!r} for {asked.upstream.name}"
            self._journal.protocol(f"upstream {asked.upstream.name}: {detail}")
            asked.refuse(400, detail)
        else:
            problem = self._limits.admit_model_call()
            if problem is None:
                self._begin(asked)
            else:
                asked.refuse(403, problem)

    def settle(self) -> None:
        """The agent is gone: nobody waits for what is still open."""
        for model_call in list(self._open.values()):
            self._given_up(model_call)
            model_call.asked.exchange.cut()

    def _begin(self, asked: Asked) -> None:
        call = self._numbering.next(f"model:{asked.upstream.name}", asked.body)
        model_call = ModelCall(call, asked, Disturbance(call, self._plan.met(call, MODEL)))
        self._open[call.call_id] = model_call
        self._journal.event(
            "model_start",
            **_identity(model_call),
            path=asked.path.partition("?")[0],
            model=asked.model,
            messages_sha256=messages_digest(asked.body),
            request=shown(asked.body, asked.data),
            stream=asked.streams,
        )
        for fault in model_call.disturbance.met:
            about = {"tool": call.tool, "occurrence": call.occurrence, "call_id": call.call_id}
            self._journal.event("injection", fault=fault.name, fault_index=fault.index, **about)
        asked.exchange.when_hung_up(lambda: self._given_up(model_call))
        if self._replay is not None:
            self._serve(model_call, self._replay)
            return
        delay_ms = model_call.disturbance.delay_ms
        if delay_ms > 0:
            self._later(model_call, delay_ms, self._go)
        else:
            self._go(model_call)

    def _serve(self, model_call: ModelCall, replay: Replay) -> None:
        """Answer out of a recording, as the agent got it then; faults do not act, they are recorded again."""
        asked, call = model_call.asked, model_call.call
        delivery = Delivery(asked.exchange, False, lambda failure, detail: self._ended(model_call, failure, detail))
        model_call.delivery = delivery
        path, key = asked.path.partition("?")[0], [messages_digest(asked.body), asked.streams]
        found = replay.take("model", f"{asked.upstream.name} {path}", shown(asked.body, asked.data), key)
        if found is None:
            delivery.failed("replay", "the recording has no answer to this call")
            return
        model_call.was_executed, disturbance = found["executed"], model_call.disturbance
        model_call.said_bytes = sum(found["chunks"] or ())
        disturbance.injected_by = found["injected_by"]
        if found["injections"] and found["error_kind"] == "timeout":
            disturbance.ending = Stall(0)
        for fault in found["injections"]:
            self._journal.event("injection", **fault, tool=call.tool, occurrence=call.occurrence, call_id=call.call_id)
        play(delivery, found)
        if found["error_kind"] == "truncated":
            answer = self._read(model_call)
            answer.usage = found["usage"]
            self._finish(model_call, "truncated", answer)
            delivery.cut()
        elif found["error_kind"] == "failed":
            delivery.failed("replay", "it failed when it was recorded, too")
        elif not is_held(found):
            delivery.end()

    def _later(self, model_call: ModelCall, ms: float, then: Any) -> None:
        model_call.alarm = self._alarms.after("model", ms / 1000, lambda: then(model_call))

    def _go(self, model_call: ModelCall) -> None:
        """To the upstream, or to what a fault answers in place of it."""
        asked, disturbance = model_call.asked, model_call.disturbance
        ending, is_held = disturbance.ending, disturbance.truncation is not None
        delivery = Delivery(asked.exchange, is_held, lambda failure, detail: self._ended(model_call, failure, detail))
        model_call.delivery = delivery
        if isinstance(ending, Stall):
            self._later(model_call, ending.after_ms, self._stalled)
        elif isinstance(ending, Refuse):
            wait = ending.retry_after_s
            fields = [_JSON] if wait is None else [_JSON, ("retry-after", f"{wait:g}")]
            delivery.local(ending.status, fields, asked.shapes.error(ending.status, _SAYING[ending.status]))
        elif isinstance(ending, (Empty, Malform)):
            streams = asked.streams
            is_empty = isinstance(ending, Empty)
            body = (
                asked.shapes.empty(asked.route, asked.model, streams)
                if is_empty
                else asked.shapes.malformed(asked.route, streams)
            )
            delivery.local(200, [_EVENTS if streams else _JSON], body)
        else:
            text = asked.data.decode("utf-8")
            name = asked.upstream.name
            model_call.number = self._outside.ask(name, "POST", asked.path, asked.headers, text, delivery)

    def _stalled(self, model_call: ModelCall) -> None:
        """It was held as long as it was to be: the connection ends without an answer."""
        self._finish(model_call, "timeout", None)
        model_call.asked.exchange.cut()

    def _given_up(self, model_call: ModelCall) -> None:
        """The agent hung up, or is gone."""
        if model_call.is_over:
            return
        if model_call.number is not None:
            self._outside.cancel(model_call.number)
        delivery, answer = model_call.delivery, self._read(model_call)
        if delivery is not None and delivery.has_begun and (answer.is_whole or answer.error is not None):
            # Clients hang up at the last event of a stream: whether its end got here first is a matter of luck.
            self._judge(model_call)
            return
        self._finish(model_call, "timeout" if model_call.disturbance.is_stalled else "cancelled", answer)

    def _ended(self, model_call: ModelCall, failure: Optional[str], detail: str) -> None:
        """The answer is there to its end, or will not come."""
        delivery, asked = model_call.delivery, model_call.asked
        assert delivery is not None
        if failure is not None:
            answer = self._read(model_call)
            if not delivery.has_begun:
                delivery.refuse(502, asked.shapes.error(502, "the upstream gave no answer"))
            self._finish(model_call, "failed", answer, detail=f"{failure}: {detail}")
            delivery.cut()
        elif model_call.disturbance.truncation is not None and delivery.status == 200:
            self._truncate(model_call)
        else:
            self._judge(model_call)

    def _judge(self, model_call: ModelCall) -> None:
        """Record a whole answer, and give the agent the rest of it."""
        delivery, asked, pin = model_call.delivery, model_call.asked, model_call.asked.upstream.model
        assert delivery is not None
        answer = self._read(model_call)
        kind = error_kind(delivery.status or 502)
        if kind is None and answer.error is not None:
            kind = "error"
        elif kind is None and not answer.is_whole:
            kind = "malformed"
        elif kind is None and pin is not None and answer.model is not None and not is_pinned(answer.model, pin):
            detail = f"{asked.upstream.name} answered as model {answer.model!r}; {pin!r} is pinned"
            self._journal.trouble("environment", detail)
            self._finish(model_call, "model", answer, detail=detail)
            delivery.refuse(502, asked.shapes.error(502, detail))
            return
        self._finish(model_call, kind, answer)
        delivery.finish()

    def _truncate(self, model_call: ModelCall) -> None:
        delivery, truncation = model_call.delivery, model_call.disturbance.truncation
        assert delivery is not None
        assert truncation is not None
        usage = self._read(model_call).usage
        delivery.pieces = [beginning_of(delivery.body, delivery.streams, truncation.keep_chunks)]
        answer = self._read(model_call)
        answer.usage = usage  # the upstream did the whole work
        self._finish(model_call, "truncated", answer)
        delivery.cut()

    def _read(self, model_call: ModelCall) -> ModelAnswer:
        asked, delivery = model_call.asked, model_call.delivery
        is_there = delivery is not None and delivery.status == 200
        body, streams = (delivery.body, delivery.streams) if delivery is not None and is_there else (b"", False)
        answer: ModelAnswer = asked.shapes.read(asked.route, body, streams)
        return answer

    def _finish(
        self, model_call: ModelCall, kind: Optional[str], answer: Optional[ModelAnswer], *, detail: Optional[str] = None
    ) -> None:
        """Record the end of a call. Whatever it said, only what it really took counts against budgets."""
        model_call.is_over = True
        del self._open[model_call.call.call_id]
        if model_call.alarm is not None:
            self._alarms.drop(model_call.alarm)
        asked, delivery = model_call.asked, model_call.delivery
        answer = answer or self._read(model_call)
        body = b"" if delivery is None else delivery.body
        cost = cost_usd(asked.upstream.prices, (answer.model, asked.model), answer.usage)
        more: Dict[str, Any] = {} if detail is None else {"detail": detail}
        self._journal.event(
            "model_finish",
            **_identity(model_call),
            status=None if delivery is None else delivery.status,
            ok=kind is None,
            error_kind=kind,
            injected_by=model_call.disturbance.injected_by,
            model=answer.model,
            text=capped(answer.text),
            tool_calls=capped_calls(answer.tool_calls),
            usage=answer.usage,
            cost_usd=cost,
            headers=[] if delivery is None else [list(pair) for pair in delivery.headers],
            response=kept_body(body, delivery is not None and delivery.streams),
            response_sha256=digest(body),
            chunks=[] if delivery is None else [len(piece) for piece in delivery.pieces],
            executed=model_call.number is not None,
            **more,
        )
        if model_call.number is not None or model_call.was_executed:
            self._charge(asked, answer, len(body) if model_call.said_bytes is None else model_call.said_bytes)

    def _charge(self, asked: Asked, answer: ModelAnswer, said_bytes: int) -> None:
        usage = answer.usage
        if usage is None:
            usage = estimated_tokens(len(asked.data), said_bytes)
        cost = cost_usd(asked.upstream.prices, (answer.model, asked.model), usage)
        self._limits.count_usage(usage["input_tokens"] + usage["output_tokens"], cost or 0.0)


_SAYING = {
    429: "Rate limit reached. Please try again later.",
    500: "The server had an error while processing your request.",
    529: "Overloaded",
}
"""What a provider says; nothing names an injection."""


def _identity(model_call: ModelCall) -> Dict[str, Any]:
    call = model_call.call
    return {"upstream": model_call.asked.upstream.name, "call_id": call.call_id, "occurrence": call.occurrence}
