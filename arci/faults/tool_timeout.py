"""`tool_timeout`: the call is not executed and the agent is told that it timed out, after a real wait of `after_ms`."""

from __future__ import annotations

from arci.faults.action import Fail, Fault
from arci.faults.settings import Kind, milliseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from arci.faults.call import Call

__all__ = ["KIND"]


class ToolTimeout(Fault):
    __slots__ = ("_after_ms",)

    def __init__(self, after_ms: float) -> None:
        self._after_ms = after_ms

    def before(self, call: Call, rng: Any) -> Fail:
        return Fail("timeout", f"tool {call.tool!r} did not answer in time", self._after_ms)


KIND = Kind(
    "tool_timeout",
    "call not executed; the agent is told that it timed out",
    lambda params: ToolTimeout(params["after_ms"]),
    [milliseconds("after_ms", 0)],
)
