"""`truncated_result`: the call is executed; the text of its answer is cut at `keep_bytes`."""

from __future__ import annotations

from arci.faults.action import Fault, Replace
from arci.faults.answer import text_of
from arci.faults.settings import Kind, byte_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from arci.faults.answer import Answer
    from arci.faults.call import Call

__all__ = ["KIND"]


class TruncatedResult(Fault):
    __slots__ = ("_keep_bytes",)

    def __init__(self, keep_bytes: int) -> None:
        self._keep_bytes = keep_bytes

    def after(self, call: Call, answer: Answer, rng: Any) -> Optional[Replace]:
        text = text_of(answer.value).encode("utf-8", "surrogatepass")
        if not answer.ok or len(text) <= self._keep_bytes:
            return None  # nothing is cut off, so the call is not met
        return Replace(text[: self._keep_bytes].decode("utf-8", "ignore"))  # never half a character


KIND = Kind(
    "truncated_result",
    "executed; answer cut short at params.keep_bytes",
    lambda params: TruncatedResult(params["keep_bytes"]),
    [byte_count("keep_bytes", 16)],
)
