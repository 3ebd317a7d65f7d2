"""What a trial may ask of an upstream: which methods, paths and headers. Pure: a frame's fields in, a request out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from arci.run.egress.failure import CallFailed, Failure
from arci.run.egress.upstream import Upstream

__all__ = ["Outgoing", "outgoing"]

_MODELS = {("GET", "/v1/models"): False}
_ROUTES: dict[str, dict[tuple[str, str], bool]] = {
    "openai": {
        ("POST", "/chat/completions"): True,
        ("POST", "/responses"): True,
        ("POST", "/embeddings"): True,
        ("GET", "/models"): False,
    },
    "anthropic": {("POST", "/v1/messages"): True, ("POST", "/v1/messages/count_tokens"): False, **_MODELS},
    "systemone": {("POST", "/v1/systemone"): True, **_MODELS},
}
"""Kind -> (method, path) -> whether the model works for it, so that it counts against the budget."""

_QUERY = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%/?-]{0,2000}")
_HEADER_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,200}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\x80-\xff\t]{0,8192}")
_MOST_HEADERS = 100
_OURS = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te"),
        *("trailer", "trailers", "upgrade", "expect", "accept-encoding", "via", "http2-settings", "forwarded"),
        *("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "cookie2"),
        *("x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"),
    }
)
"""What only the caller itself says; a trial's own is dropped. Keys and cookies, framing, and what names another
method, path or origin than those that were checked."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it goes out, but for the key. `target` is path and query on the upstream's host."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    is_call: bool
    """It counts against the budget of calls."""


def outgoing(upstream: Upstream, method: str, path: str, headers: Sequence[tuple[str, str]], body: str) -> Outgoing:
    """The request of a trial, checked. CallFailed (`refused`, `too_large`; by the agent) where it may not go out."""
    route, mark, query = path.partition("?")
    is_call = _ROUTES[upstream.kind].get((method, route))
    if is_call is None:
        raise _refused(f"{method[:20]} {path[:200]!r} is no route of {upstream.kind}; {_allowed(upstream.kind)}.")
    if not _QUERY.fullmatch(query):
        raise _refused("its query holds what a URL may not, or more than 2000 characters")
    return Outgoing(
        method=method,
        target=upstream.address.path + route + mark + query,
        headers=_headers(headers),
        body=_body(body, upstream.max_body_bytes) if method == "POST" else b"",
        is_call=is_call,
    )


def _headers(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if len(headers) > _MOST_HEADERS:
        raise _refused(f"it has {len(headers)} headers; {_MOST_HEADERS} are allowed")
    kept = []
    for name, value in headers:
        lower = name.lower()
        if not _HEADER_NAME.fullmatch(lower):
            raise _refused("it has a header whose name HTTP does not allow")
        if not _HEADER_VALUE.fullmatch(value):
            raise _refused(f"its header {lower} holds what HTTP does not allow, or more than 8192 characters")
        canonical_name = lower.replace("_", "-")  # servers of the CGI kind take one for the other
        if canonical_name not in _OURS and not canonical_name.startswith("x-forwarded-"):
            kept.append((lower, value.strip(" \t")))
    return tuple(kept)


def _body(body: str, limit_bytes: int) -> bytes:
    try:
        data = body.encode("utf-8")
    except UnicodeEncodeError:
        raise _refused("its body holds half of a surrogate pair, which is no UTF-8") from None
    if len(data) > limit_bytes:
        raise CallFailed(Failure("too_large", f"its body has {len(data)} bytes; {limit_bytes} are allowed", True))
    return data


def _allowed(kind: str) -> str:
    return ", ".join(f"{method} {path}" for method, path in _ROUTES[kind]) + " are"


def _refused(detail: str) -> CallFailed:
    return CallFailed(Failure("refused", detail, by_agent=True))
