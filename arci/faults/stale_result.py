"""`stale_result`: the call is executed; the agent gets what an earlier call of the same tool answered."""

from __future__ import annotations

from arci.faults.action import Fault, Replace
from arci.faults.settings import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from arci.faults.answer import Answer
    from arci.faults.call import Call

__all__ = ["KIND"]


class StaleResult(Fault):
    __slots__ = ()
    wants_earlier = True

    def after(self, call: Call, answer: Answer, rng: Any) -> Optional[Replace]:
        # Nothing to repeat before the tool has succeeded once: then the call is not met.
        return None if call.earlier is None else Replace(call.earlier.value)


KIND = Kind("stale_result", "executed; the answer of an earlier call of the same tool", lambda params: StaleResult())
