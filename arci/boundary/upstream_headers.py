"""Header fields between an agent and an upstream: what is passed on of a request, and of its answer. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Sequence, Tuple

    from arci.wire.http_request import Head

__all__ = ["asked", "credentials", "is_stream", "passed_on"]

_NOT_ASKED = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te"),
        *("trailer", "upgrade", "expect", "accept-encoding", "authorization", "proxy-authorization"),
        *("x-api-key", "api-key", "cookie"),
    }
)
"""What is of this connection alone, and what carries the trial's token."""
_PASSED_ON = frozenset(
    {
        *("content-type", "retry-after", "retry-after-ms", "x-should-retry"),
        *("x-request-id", "request-id", "x-typesafe-request-id"),
    }
)
_PASSED_ON_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-", "ratelimit-")


def asked(head: Head) -> List[Tuple[str, str]]:
    """Of an agent's request, what the host gets."""
    return [(name, value) for name, value in head.fields if name not in _NOT_ASKED]


def passed_on(headers: Sequence[Tuple[str, str]]) -> List[Tuple[str, str]]:
    """Of an answer, what the agent gets: its type, what says when to ask again, and its ids."""
    lower = [(name.lower(), value) for name, value in headers]
    return [(name, value) for name, value in lower if _is_passed_on(name) and _is_plain(value)]


def is_stream(headers: Sequence[Tuple[str, str]]) -> bool:
    """Whether the body is a stream of events."""
    said = next((value for name, value in headers if name == "content-type"), "")
    return said.partition(";")[0].strip().lower() == "text/event-stream"


def credentials(head: Head) -> List[str]:
    """Every token that a request carries, as the SDKs of the providers send theirs."""
    scheme, _, token = head.get("authorization").partition(" ")
    bearer = [token.strip()] if scheme.lower() == "bearer" else []
    return [*bearer, *head.all("x-api-key"), *head.all("api-key")]


def _is_passed_on(name: str) -> bool:
    return name in _PASSED_ON or (name.startswith(_PASSED_ON_PREFIXES) and name.replace("-", "").isalnum())


def _is_plain(value: str) -> bool:
    """It can stand in a head, and ends nothing there."""
    return all(char == "\t" or (" " <= char <= "ÿ" and char != "\x7f") for char in value)
