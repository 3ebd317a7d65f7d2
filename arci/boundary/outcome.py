"""What a server's response to a tool call means, and what a record keeps of a call and its answer. Pure."""

from __future__ import annotations

from arci.boundary.peer import TOOLSET
from arci.faults.answer import Answer
from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.boundary.servers import Target
    from arci.faults.call import Call
    from arci.wire.jsonrpc import Response

__all__ = ["MOST_RESULT_BYTES", "answer_of", "identity", "kept_result", "kept_text", "recorded"]

MOST_RESULT_BYTES = 1 << 20
"""Of a result that a record keeps as it was written. Longer ones are kept as their value alone."""


def identity(call: Call) -> Dict[str, Any]:
    return {"tool": call.tool, "call_id": call.call_id, "occurrence": call.occurrence}


def recorded(answer: Answer) -> Any:
    """What a record keeps of an answer: the value, or the text of the failure."""
    return answer.value if answer.ok else answer.detail


def kept_result(answer: Answer, target: Optional[Target]) -> Dict[str, Any]:
    """The text of a server's result, for a replay, where value and kind of failure do not say all of it: `result`, or
    `result_bytes` of one that is too long. A toolset's answers are made of their values."""
    if target is None or target.server == TOOLSET:
        return {}
    same = Answer.of(answer.value) if answer.ok else Answer.failure(str(answer.kind), answer.detail)
    if answer.raw is None and answer.result == same.result:
        return {}
    return kept_text(answer.result, answer.raw, same.result)


def kept_text(result: Any, raw: Optional[bytes], known: Any = None) -> Dict[str, Any]:
    """`result` as text, or `result_bytes`; nothing where it is `known` to the letter. `raw`: as it was written."""
    text = dumps(result) if raw is None else raw.decode("utf-8")
    if known is not None and text == dumps(known):
        return {}
    size = len(text) if raw is None else len(raw)
    return {"result": text} if size <= MOST_RESULT_BYTES else {"result_bytes": size}


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
