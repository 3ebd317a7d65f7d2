"""The OpenAI API as the boundary must know it: its routes, and the bodies that are made here. Pure."""

from __future__ import annotations

from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

__all__ = ["ROUTES", "empty", "error", "malformed", "models", "read"]

ROUTES = {
    ("POST", "/chat/completions"): "chat",
    ("POST", "/responses"): "responses",
    ("POST", "/embeddings"): "embeddings",
    ("GET", "/models"): "models",
}
_CREATED = 1_700_000_000
"""A time in the bodies that are made here: one and the same in every repetition."""
_TYPES = {429: "rate_limit_error", 500: "server_error", 502: "server_error", 529: "overloaded_error"}
_CODES = {401: "invalid_api_key", 404: "not_found", 429: "rate_limit_exceeded", 529: "overloaded"}


def error(status: int, message: str) -> bytes:
    kind = _TYPES.get(status, "invalid_request_error")
    body = {"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}}
    return dumps(body).encode()


def models(model: str) -> bytes:
    """The list where one is pinned."""
    entry = {"id": model, "object": "model", "created": _CREATED, "owned_by": "system"}
    return dumps({"object": "list", "data": [entry]}).encode()


def read(route: str, data: bytes, streams: bool) -> Any:
    """The `ModelAnswer` of a body."""
    from arci.boundary import openai_answers

    return openai_answers.read(route, data, streams)


def malformed(route: str, streams: bool) -> bytes:
    if streams:
        return b'data: {"id":"chatcmpl-0","object":"chat.completion.chunk","choices":[{"index":0,"del\n\n'
    return b'{"id":"chatcmpl-0","object":"chat.completion","choices":[{"index":0,"mess'


def empty(route: str, model: str, streams: bool) -> bytes:
    """A valid answer that says nothing."""
    if route == "embeddings":
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return dumps({"object": "list", "data": [], "model": model, "usage": usage}).encode()
    if route == "responses":
        return _empty_response(model, streams)
    return _empty_chat(model, streams)


def _empty_chat(model: str, streams: bool) -> bytes:
    base = {"id": "chatcmpl-0", "created": _CREATED, "model": model}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    if not streams:
        message = {"role": "assistant", "content": "", "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    chunks: List[Dict[str, Any]] = [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ]
    lines = [dumps({**base, "object": "chat.completion.chunk", "choices": [chunk]}) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


def _empty_response(model: str, streams: bool) -> bytes:
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, **details}
    response: Dict[str, Any] = {
        "id": "resp_0",
        "object": "response",
        "created_at": _CREATED,
        "status": "completed",
        "model": model,
        "output": [],
        "usage": usage,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
    }
    if not streams:
        return dumps(response).encode()
    begun = {**response, "status": "in_progress", "usage": None}
    events: List[Dict[str, Any]] = [
        {"type": "response.created", "sequence_number": 0, "response": begun},
        {"type": "response.completed", "sequence_number": 1, "response": response},
    ]
    return "".join(f"event: {event['type']}\ndata: {dumps(event)}\n\n" for event in events).encode()
