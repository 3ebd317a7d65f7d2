"""What a server's response to a tool call means, and what a record keeps of a call and its answer. Pure."""

from __future__ import annotations

from arci.boundary.peer import TOOLSET
from arci.faults.answer import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.boundary.servers import Target
    from arci.faults.call import Call
    from arci.wire.jsonrpc import Response

__all__ = ["answer_of", "identity", "recorded"]


def identity(call: Call) -> Dict[str, Any]:
    return {"tool": call.tool, "call_id": call.call_id, "occurrence": call.occurrence}


def recorded(answer: Answer) -> Any:
    """What a record keeps of an answer: the value, or the text of the failure."""
    return answer.value if answer.ok else answer.detail


def answer_of(frame: Response, target: Optional[Target]) -> Answer:
    """The environment's answer. A JSON-RPC error of it is data like any other failure."""
    result = frame.result
    if frame.error is not None:
        return Answer.failure("error", str(frame.error.get("message", "error without a message")))
    if not isinstance(result, dict):
        return Answer.failure("error", "the environment answered without a result")
    is_toolset = target is None or target.server == TOOLSET
    if is_toolset and "content" not in result and result.get("isError") is not True:
        return Answer.of(Answer(result).value)  # it sends the value alone
    meta = result.get("_meta")
    if isinstance(meta, dict) and "arci" in meta:  # the recorder's own mark: nobody else sets it
        return Answer({**result, "_meta": {key: value for key, value in meta.items() if key != "arci"}})
    return Answer(result, frame.raw)
