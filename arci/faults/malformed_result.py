"""`malformed_result`: the call is executed; its answer no longer fits the tool's output schema."""

from __future__ import annotations

from arci.faults.action import Fault, Replace
from arci.faults.settings import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from arci.faults.answer import Answer
    from arci.faults.call import Call

__all__ = ["KIND"]


def malformed(value: Any) -> Any:
    """A value of another JSON type, so that no schema of the true one accepts it."""
    return {"data": None} if isinstance(value, str) else "<html><body>502 Bad Gateway</body></html>"


class MalformedResult(Fault):
    __slots__ = ()

    def after(self, call: Call, answer: Answer, rng: Any) -> Optional[Replace]:
        return Replace(malformed(answer.value)) if answer.ok else None


KIND = Kind("malformed_result", "executed; answer of another type than the tool's", lambda params: MalformedResult())
