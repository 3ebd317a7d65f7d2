"""Answers of the Anthropic API: messages, whole or as a stream. Pure."""

from __future__ import annotations

from arci.boundary.model_answer import (
    ModelAnswer,
    count_of,
    events_of,
    list_of,
    object_of,
    text_of,
    usage_of,
    value_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

__all__ = ["read"]


def read(data: bytes, streams: bool) -> ModelAnswer:
    """What a body says."""
    answer = ModelAnswer()
    body = _put_together(answer, data) if streams else value_of(data)
    if not isinstance(body, dict):
        return answer
    answer.is_whole = answer.is_whole or not streams
    answer.model = text_of(body.get("model")) or None
    texts = []
    for block in map(object_of, list_of(body.get("content"))):
        if block.get("type") == "tool_use":
            answer.asks(block.get("name"), block.get("input"))
        elif block.get("type") == "text":
            texts.append(text_of(block.get("text")))
    answer.text = "\n".join(texts)
    _count(answer, body.get("usage"))
    return answer


def _count(answer: ModelAnswer, usage: Any) -> None:
    """What was read from the cache, and what was written to it, is not in this API's `input_tokens`."""
    if isinstance(usage, dict):
        cached = count_of(usage.get("cache_read_input_tokens"))
        written = count_of(usage.get("cache_creation_input_tokens"))
        took = count_of(usage.get("input_tokens")) + cached + written
        answer.usage = usage_of(took, usage.get("output_tokens"), cached)


def _put_together(answer: ModelAnswer, stream: bytes) -> Dict[str, Any]:
    """The message that the events of a stream amount to."""
    message: Dict[str, Any] = {}
    blocks: Dict[Any, Dict[str, Any]] = {}
    for event in events_of(stream):
        kind = event.get("type")
        if kind == "message_start":
            message = dict(object_of(event.get("message")))
        elif kind == "content_block_start":
            blocks[text_of(str(event.get("index")))] = {**object_of(event.get("content_block")), "pieces": []}
        elif kind == "content_block_delta":
            block = blocks.get(text_of(str(event.get("index"))), {"pieces": []})
            delta = object_of(event.get("delta"))
            block["pieces"].append(text_of(delta.get("text")) or text_of(delta.get("partial_json")))
        elif kind == "message_delta":
            message["usage"] = {**object_of(message.get("usage")), **object_of(event.get("usage"))}
        elif kind == "message_stop":
            answer.is_whole = True
        elif kind == "error":
            answer.error = text_of(object_of(event.get("error")).get("message")) or "error"
    message["content"] = [_whole(block) for block in blocks.values()]
    return message


def _whole(block: Dict[str, Any]) -> Dict[str, Any]:
    pieces: List[str] = block["pieces"]
    said = "".join(pieces)
    if block.get("type") == "tool_use":
        return {**block, "input": said or block.get("input")}
    return {**block, "text": text_of(block.get("text")) + said}
