"""The frames that a recorder asks by, `upstream_request` and `upstream_cancel`, taken apart. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arci.run.frames import FrameError

__all__ = ["TrialRequest", "parse_request", "request_number"]


@dataclass(frozen=True, slots=True)
class TrialRequest:
    number: int
    upstream: str
    method: str
    path: str
    """Below the upstream's base URL, with the query."""
    headers: tuple[tuple[str, str], ...]
    body: str


def request_number(frame: Mapping[str, Any]) -> int:
    """Which request a frame is about. FrameError where it names none."""
    number = frame.get("request")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise FrameError(f"a frame {frame.get('type')!r} whose request is no whole number from 0")
    return number


def parse_request(frame: Mapping[str, Any]) -> TrialRequest:
    """The request of an `upstream_request`. FrameError for a malformed one; whether it may go out is decided later."""
    texts = {}
    for key in ("upstream", "method", "path", "body"):
        value = frame.get(key)
        if not isinstance(value, str):
            raise FrameError(f"an `upstream_request` whose {key} is {type(value).__name__}, not text")
        texts[key] = value
    return TrialRequest(request_number(frame), headers=_headers(frame.get("headers")), **texts)


def _headers(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list) or not all(_is_pair(pair) for pair in value):
        raise FrameError("an `upstream_request` whose headers are no list of [name, value]")
    return tuple((name, text) for name, text in value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(part, str) for part in value)
