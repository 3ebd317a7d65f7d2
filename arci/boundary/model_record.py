"""What a record keeps of a call of a model: digests, bodies within caps, the kind of a failure. Pure."""

from __future__ import annotations

from hashlib import sha256

from arci.wire.quickjson import dumps
from arci.wire.strict import read, shape_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

__all__ = [
    "REQUEST_BYTES",
    "RESPONSE_BYTES",
    "capped",
    "capped_calls",
    "digest",
    "error_kind",
    "kept_body",
    "messages_digest",
    "shown",
]

REQUEST_BYTES = 64 * 1024
"""A longer request is recorded by its head: its digest says whether it was the same."""
RESPONSE_BYTES = 1024 * 1024
"""A longer answer is recorded by its head. A replay gives answers again, so this is wide."""
_TEXT_CHARS = 64 * 1024
_MOST_TOOL_CALLS = 100
_NOT_COMPARED = ("stream", "stream_options", "metadata", "user", "safety_identifier", "prompt_cache_key")
"""What does not change what a model is asked: how the answer comes, and who asks."""
_BY_STATUS = {429: "rate_limited", 503: "overloaded", 529: "overloaded"}


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def messages_digest(body: Dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON of what the model is asked."""
    asked = {key: value for key, value in body.items() if key not in _NOT_COMPARED}
    return digest(dumps(asked, sort_keys=True).encode("utf-8", "backslashreplace"))


def shown(body: Dict[str, Any], data: bytes) -> Any:
    """A request: JSON, or the head of its text."""
    return body if len(data) <= REQUEST_BYTES else _head(data, REQUEST_BYTES)


def kept_body(data: bytes, streams: bool) -> Any:
    """An answer: JSON where it is unambiguously that, else its text, or the head of it."""
    if len(data) > RESPONSE_BYTES:
        return _head(data, RESPONSE_BYTES)
    if not streams and shape_problem(data) is None:
        try:
            value, problems = read(data)
        except (ValueError, RecursionError):
            value, problems = None, [""]
        if not problems and isinstance(value, (dict, list)):
            return value
    return data.decode("utf-8", "replace")


def capped(text: str) -> str:
    return text[:_TEXT_CHARS]


def capped_calls(calls: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The first hundred; arguments that are long come as the head of their text."""
    kept = []
    for call in calls[:_MOST_TOOL_CALLS]:
        text = dumps(call["arguments"])
        kept.append(
            {"name": call["name"][:1000], "arguments": call["arguments"] if len(text) <= _TEXT_CHARS else capped(text)}
        )
    return kept


def error_kind(status: int) -> Optional[str]:
    """The kind of failure that a status is; None if it is none."""
    if status < 400:
        return None
    return _BY_STATUS.get(status, "error" if status >= 500 else "refused")


def _head(data: bytes, limit_bytes: int) -> str:
    return data[:limit_bytes].decode("utf-8", "replace")
