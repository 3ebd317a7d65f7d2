"""Answers of the OpenAI API: chat completions, responses and embeddings, whole or as a stream. Pure."""

from __future__ import annotations

from arci.boundary.model_answer import (
    ModelAnswer,
    events_of,
    list_of,
    object_of,
    text_of,
    usage_of,
    value_of,
)
from arci.wire.quickjson import dumps
from arci.wire.sse import data_of, split_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

__all__ = ["read"]

_ENDED = ("response.completed", "response.incomplete", "response.failed")


def read(route: str, data: bytes, streams: bool) -> ModelAnswer:
    """What a body says; `route`: `chat`, `responses` or `embeddings`."""
    if streams:
        return _responses_stream(data) if route == "responses" else _chat_stream(data)
    answer, body = ModelAnswer(), value_of(data)
    if not isinstance(body, dict):
        return answer
    answer.is_whole = True
    if route == "responses":
        _response(answer, body)
    elif route == "embeddings":
        _named(answer, body)
        _count(answer, body.get("usage"))
    else:
        _chat(answer, body)
    return answer


def _named(answer: ModelAnswer, body: Dict[str, Any]) -> None:
    model = body.get("model")
    if isinstance(model, str) and model:
        answer.model = model


def _count(answer: ModelAnswer, usage: Any) -> None:
    """Either API's names."""
    if not isinstance(usage, dict):
        return
    took = usage.get("prompt_tokens", usage.get("input_tokens"))
    gave = usage.get("completion_tokens", usage.get("output_tokens"))
    details = object_of(usage.get("prompt_tokens_details", usage.get("input_tokens_details")))
    answer.usage = usage_of(took, gave, details.get("cached_tokens"))


def _chat(answer: ModelAnswer, body: Dict[str, Any]) -> None:
    _named(answer, body)
    _count(answer, body.get("usage"))
    texts = []
    for choice in map(object_of, list_of(body.get("choices"))):
        message = object_of(choice.get("message"))
        texts.append(text_of(message.get("content")) or text_of(message.get("refusal")))
        for asked in map(object_of, list_of(message.get("tool_calls"))):
            _asked(answer, asked)
        if isinstance(message.get("function_call"), dict):
            _asked(answer, {"function": message["function_call"]})
    answer.text = "\n".join(texts)


def _asked(answer: ModelAnswer, asked: Dict[str, Any]) -> None:
    custom = asked.get("custom")
    if isinstance(custom, dict):
        answer.asks(custom.get("name"), {"input": custom.get("input")})
    else:
        function = object_of(asked.get("function"))
        answer.asks(function.get("name"), text_of(function.get("arguments")))


class _Pieces:
    """One choice of a stream, put together."""

    def __init__(self) -> None:
        self.text: List[str] = []
        self.asked: Dict[int, Dict[str, str]] = {}

    def add(self, delta: Dict[str, Any]) -> None:
        self.text.append(text_of(delta.get("content")) or text_of(delta.get("refusal")))
        for position, piece in enumerate(map(object_of, list_of(delta.get("tool_calls")))):
            index = piece.get("index", position)
            function = object_of(piece.get("function") or piece.get("custom"))
            asked = self.asked.setdefault(index if isinstance(index, int) else position, {"name": "", "arguments": ""})
            asked["name"] += text_of(function.get("name"))
            asked["arguments"] += text_of(function.get("arguments")) or text_of(function.get("input"))


def _chat_stream(data: bytes) -> ModelAnswer:
    answer = ModelAnswer()
    choices: Dict[int, _Pieces] = {}
    for event in events_of(data):
        _named(answer, event)
        _count(answer, event.get("usage"))
        _note_error(answer, event.get("error"))
        for choice in map(object_of, list_of(event.get("choices"))):
            index = choice.get("index")
            pieces = choices.setdefault(index if isinstance(index, int) else 0, _Pieces())
            pieces.add(object_of(choice.get("delta")))
            answer.is_whole = answer.is_whole or choice.get("finish_reason") is not None
    answer.is_whole = answer.is_whole or _has_done(data)
    answer.text = "\n".join("".join(pieces.text) for _, pieces in sorted(choices.items()))
    for _, pieces in sorted(choices.items()):
        for _, asked in sorted(pieces.asked.items()):
            answer.asks(asked["name"], asked["arguments"])
    return answer


def _has_done(data: bytes) -> bool:
    events, _ = split_events(data)
    return bool(events) and data_of(events[-1]) == "[DONE]"


def _note_error(answer: ModelAnswer, error: Any) -> None:
    if error:
        told = error.get("message") if isinstance(error, dict) else error
        answer.error = told if isinstance(told, str) else dumps(error)[:1000]


def _response(answer: ModelAnswer, body: Dict[str, Any]) -> None:
    _named(answer, body)
    _count(answer, body.get("usage"))
    _note_error(answer, body.get("error"))
    _items(answer, list_of(body.get("output")))


def _items(answer: ModelAnswer, items: List[Any]) -> None:
    texts = []
    for item in map(object_of, items):
        if item.get("type") == "function_call":
            answer.asks(item.get("name"), text_of(item.get("arguments")))
        elif item.get("type") == "custom_tool_call":
            answer.asks(item.get("name"), {"input": item.get("input")})
        parts = map(object_of, list_of(item.get("content")) if item.get("type") == "message" else [])
        texts += [text_of(part.get("text")) or text_of(part.get("refusal")) for part in parts]
    answer.text = "\n".join(text for text in texts if text)


def _responses_stream(data: bytes) -> ModelAnswer:
    """The last event has the whole response; of a stream without it, the pieces that came."""
    answer = ModelAnswer()
    pieces: List[str] = []
    items: List[Any] = []
    for event in events_of(data):
        kind = text_of(event.get("type"))
        if kind in _ENDED:
            answer.is_whole = True
            _response(answer, object_of(event.get("response")))
        elif kind == "error":
            _note_error(answer, event.get("error") or event.get("message"))
        elif kind == "response.output_item.done":
            items.append(event.get("item"))
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            pieces.append(text_of(event.get("delta")))
        else:
            _named(answer, object_of(event.get("response")))
    if not answer.is_whole:
        _items(answer, items)
        answer.text = "".join(pieces)
    return answer
