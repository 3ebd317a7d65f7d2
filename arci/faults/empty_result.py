"""`empty_result`: the call is executed and its answer emptied. A failed call is left as it is."""

from __future__ import annotations

from arci.faults.action import Fault, Replace
from arci.faults.settings import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from arci.faults.answer import Answer
    from arci.faults.call import Call

__all__ = ["KIND"]


def emptied(value: Any) -> Any:
    """The empty value of the same type: {}, [] or ""; null for numbers and booleans, which have none."""
    return type(value)() if isinstance(value, (dict, list, str)) else None


class EmptyResult(Fault):
    __slots__ = ()

    def after(self, call: Call, answer: Answer, rng: Any) -> Optional[Replace]:
        return Replace(emptied(answer.value)) if answer.ok else None


KIND = Kind("empty_result", "executed; the answer is emptied", lambda params: EmptyResult())
