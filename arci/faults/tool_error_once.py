"""`tool_error_once`: the call is not executed and the agent gets an error of the tool."""

from __future__ import annotations

from arci.faults.action import Fail, Fault
from arci.faults.settings import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from arci.faults.call import Call

__all__ = ["KIND"]


class ToolErrorOnce(Fault):
    __slots__ = ()

    def before(self, call: Call, rng: Any) -> Fail:
        # The text says nothing of an injection: an agent must not be able to tell it from a real failure.
        return Fail("error", f"tool {call.tool!r} failed: internal error")


KIND = Kind("tool_error_once", "call not executed; tool error", lambda params: ToolErrorOnce())
