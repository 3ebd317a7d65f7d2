"""One call of a model: who asked, what, and what is to happen to it. Data, and what faults make of it. Pure."""

from __future__ import annotations

from arci.faults.model_action import Postpone, Stall, Truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Dict, List, Optional, Sequence, Tuple

    from arci.boundary.http_exchange import Exchange
    from arci.boundary.message import Key
    from arci.boundary.model_delivery import Delivery
    from arci.boundary.terms import UpstreamTerms
    from arci.faults.call import Call
    from arci.faults.model_action import ModelAction
    from arci.faults.plan import Met

__all__ = ["Asked", "Disturbance", "ModelCall", "is_pinned"]


class Asked:
    """A request on its way to a model, as it was read."""

    __slots__ = ("body", "data", "exchange", "headers", "path", "route", "shapes", "upstream")

    def __init__(
        self,
        exchange: Exchange,
        upstream: UpstreamTerms,
        shapes: Any,
        route: str,
        path: str,
        headers: List[Tuple[str, str]],
        data: bytes,
        body: Dict[str, Any],
    ) -> None:
        self.exchange = exchange
        self.upstream = upstream
        self.shapes: ModuleType = shapes
        """The module of its API."""
        self.route = route
        self.path = path  # below the upstream's base URL, with the query
        self.headers = headers
        self.data = data
        self.body = body

    @property
    def streams(self) -> bool:
        return self.body.get("stream") is True

    @property
    def model(self) -> str:
        model = self.body.get("model")
        return model if isinstance(model, str) else ""

    def refuse(self, status: int, detail: str) -> None:
        """An error in the provider's own shape."""
        self.exchange.respond(status, self.shapes.error(status, detail))


class Disturbance:
    """What the faults that meet a call amount to: one that answers it shadows those behind it."""

    __slots__ = ("delay_ms", "ending", "injected_by", "met", "truncation")

    def __init__(self, call: Call, met: Sequence[Met]) -> None:
        self.delay_ms = 0.0
        self.truncation: Optional[Truncate] = None
        self.ending: Optional[ModelAction] = None
        """What is answered in place of the upstream."""
        self.injected_by: Optional[str] = None
        self.met: List[Met] = []
        for fault in met:
            action = fault.hooks.meet(call, fault.rng)
            self.met.append(fault)
            self.injected_by = fault.name
            if isinstance(action, Postpone):
                self.delay_ms += action.ms
            elif isinstance(action, Truncate):
                self.truncation = action
            else:
                self.ending = action
                break

    @property
    def is_stalled(self) -> bool:
        return isinstance(self.ending, Stall)


class ModelCall:
    """A call that was admitted, until its `model_finish`."""

    __slots__ = ("alarm", "asked", "call", "delivery", "disturbance", "is_over", "number", "said_bytes", "was_executed")

    def __init__(self, call: Call, asked: Asked, disturbance: Disturbance) -> None:
        self.call = call
        self.asked = asked
        self.disturbance = disturbance
        self.delivery: Optional[Delivery] = None
        self.number: Optional[int] = None  # of the host's request: the upstream was called
        self.alarm: Optional[Key] = None
        self.is_over = False
        self.said_bytes: Optional[int] = None  # by the answer when it was recorded: a replay writes JSON anew
        self.was_executed = False  # when it was recorded: what it took counts in its replay, too


def is_pinned(model: str, pin: str) -> bool:
    """Whether `model`, named by an answer, is the pinned one: the same name, or the dated version that an alias is.

    `gpt-4o` is answered by `gpt-4o-2024-08-06`, `claude-x-latest` by `claude-x-20250219`; never by `gpt-4o-mini`.
    """
    if model == pin:
        return True
    stem = pin[: -len("latest")] if pin.endswith("-latest") else pin + "-"
    version = model[len(stem) :]
    return model.startswith(stem) and bool(version) and not version.strip("0123456789.-")
