"""`lost_response`: the call is executed, then its answer is lost; finds agents that retry without idempotency."""

from __future__ import annotations

from arci.faults.action import Fail, Fault
from arci.faults.settings import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from arci.faults.answer import Answer
    from arci.faults.call import Call

__all__ = ["KIND"]


class LostResponse(Fault):
    __slots__ = ()

    def after(self, call: Call, answer: Answer, rng: Any) -> Fail:
        # The same words as tool_timeout: the agent cannot know whether the call was executed.
        return Fail("timeout", f"tool {call.tool!r} did not answer in time")


KIND = Kind(
    "lost_response",
    "executed, then the answer is lost: the agent is told that it timed out",
    lambda params: LostResponse(),
)
