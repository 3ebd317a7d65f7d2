"""The Anthropic API as the boundary must know it: its routes, and the bodies that are made here. Pure."""

from __future__ import annotations

from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

__all__ = ["ROUTES", "empty", "error", "malformed", "models", "read"]

ROUTES = {
    ("POST", "/v1/messages"): "messages",
    ("POST", "/v1/messages/count_tokens"): "count",
    ("GET", "/v1/models"): "models",
}
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_USAGE = {"input_tokens": 0, "output_tokens": 0}


def error(status: int, message: str) -> bytes:
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


def models(model: str) -> bytes:
    """The list where one is pinned."""
    entry = {"type": "model", "id": model, "display_name": model, "created_at": "2023-11-14T22:13:20Z"}
    return dumps({"data": [entry], "has_more": False, "first_id": model, "last_id": model}).encode()


def read(route: str, data: bytes, streams: bool) -> Any:
    """The `ModelAnswer` of a body."""
    from arci.boundary import anthropic_answers

    return anthropic_answers.read(data, streams)


def malformed(route: str, streams: bool) -> bytes:
    if streams:
        return b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_0","type":"mess\n\n'
    return b'{"id":"msg_0","type":"message","role":"assistant","content":[{"type":"te'


def empty(route: str, model: str, streams: bool) -> bytes:
    """A valid answer that says nothing."""
    message: Dict[str, Any] = {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": _USAGE,
    }
    if not streams:
        return dumps(message).encode()
    begun = {**message, "stop_reason": None}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    events: List[Dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 0}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {dumps(event)}\n\n" for event in events).encode()
