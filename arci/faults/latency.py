"""`latency`: the call is executed and answered `ms` milliseconds later."""

from __future__ import annotations

from arci.faults.action import Delay, Fault
from arci.faults.settings import Kind, milliseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from arci.faults.answer import Answer
    from arci.faults.call import Call

__all__ = ["KIND"]


class Latency(Fault):
    __slots__ = ("_ms",)

    def __init__(self, ms: float) -> None:
        self._ms = ms

    def after(self, call: Call, answer: Answer, rng: Any) -> Delay:
        return Delay(self._ms)


KIND = Kind(
    "latency",
    "executed; answered later by params.ms",
    lambda params: Latency(params["ms"]),
    [milliseconds("ms", 1000)],
)
