"""What of a trial's request may go out: the kind's own routes, clean headers, a body within its cap."""

from __future__ import annotations

from typing import Any

import pytest
from egress_server import decisions, model

from arci.run.egress.failure import CallFailed
from arci.run.egress.requests import parse_request, request_number
from arci.run.egress.routes import Outgoing, outgoing
from arci.run.egress.upstream import Upstream, upstreams_of
from arci.run.frames import FrameError

OPENAI, ANTHROPIC, SYSTEMONE = upstreams_of(
    [
        model(1, base_url="https://gateway.corp/openai/v1/"),
        model(1, name="anthropic", kind="anthropic", base_url="https://api.anthropic.com"),
    ],
    decisions(1, max_body_bytes=10),
)
PLAIN = [("content-type", "application/json")]


def refusal(upstream: Upstream, method: str, path: str, headers: Any = (), body: str = "{}") -> str:
    with pytest.raises(CallFailed) as caught:
        outgoing(upstream, method, path, headers, body)
    assert caught.value.failure.by_agent
    return caught.value.failure.kind


@pytest.mark.parametrize(
    ("upstream", "method", "path", "target", "is_call"),
    [
        (OPENAI, "POST", "/chat/completions", "/openai/v1/chat/completions", True),
        (OPENAI, "POST", "/responses", "/openai/v1/responses", True),
        (OPENAI, "POST", "/embeddings?api-version=2", "/openai/v1/embeddings?api-version=2", True),
        (OPENAI, "GET", "/models", "/openai/v1/models", False),
        (ANTHROPIC, "POST", "/v1/messages?beta=true", "/v1/messages?beta=true", True),
        (ANTHROPIC, "POST", "/v1/messages/count_tokens", "/v1/messages/count_tokens", False),
        (ANTHROPIC, "GET", "/v1/models", "/v1/models", False),
        (SYSTEMONE, "POST", "/v1/systemone", "/v1/systemone", True),
        (SYSTEMONE, "GET", "/v1/models", "/v1/models", False),
    ],
)
def test_a_kind_s_own_routes_go_out_below_the_base_url(
    upstream: Upstream, method: str, path: str, target: str, is_call: bool
) -> None:
    body = b"{}" if method == "POST" else b""
    assert outgoing(upstream, method, path, PLAIN, "{}") == Outgoing(method, target, tuple(PLAIN), body, is_call)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/chat/completions"),
        ("DELETE", "/models"),
        ("post", "/responses"),
        ("POST", "/files"),
        ("POST", "/v1/messages"),
        ("POST", ""),
        ("POST", "chat/completions"),
        ("POST", "/chat/completions/"),
        ("POST", "//evil.example/chat/completions"),
        ("POST", "https://evil.example/chat/completions"),
        ("POST", "@evil.example/chat/completions"),
        ("POST", "/../chat/completions"),
        ("POST", "/chat/../chat/completions"),
        ("POST", "/chat%2fcompletions"),
        ("POST", "/%2e%2e/admin"),
        ("POST", "/chat/completions#x"),
        ("POST", "/chat/completions?a b"),
        ("POST", "/chat/completions?a\r\nx: y"),
        ("POST", "/chat/completions?" + "a" * 2001),
        ("POST", "/chat/completions HTTP/1.1\r\nhost: evil"),
        ("POST /admin HTTP/1.1\r\nx:", "/chat/completions"),
    ],
)
def test_no_other_route_goes_out(method: str, path: str) -> None:
    assert refusal(OPENAI, method, path) == "refused"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x y", "1"),
        ("", "1"),
        ("x:", "1"),
        ("x\r\nauthorization", "1"),
        ("é", "1"),
        ("x", "1\r\nauthorization: Bearer mine"),
        ("x", "1\n"),
        ("x", "\0"),
        ("x", "€"),
        ("x", "a" * 8193),
    ],
)
def test_a_header_that_is_more_than_one_is_refused(name: str, value: str) -> None:
    assert refusal(OPENAI, "POST", "/responses", [*PLAIN, (name, value)]) == "refused"
    assert refusal(OPENAI, "POST", "/responses", [("x", "1")] * 101) == "refused"


def test_what_the_host_says_itself_is_dropped_however_it_is_spelt() -> None:
    dropped = (
        "Authorization AUTHORIZATION x-api-key X_API_KEY api-key Cookie Host content-length Transfer-Encoding te "
        "connection expect proxy-authorization X-Forwarded-Host x_forwarded_for forwarded accept-encoding "
        "x-http-method-override"
    )
    kept = [("openai-beta", "x"), ("user-agent", "OpenAI/Python 2"), ("x-stainless-lang", "python")]
    headers = [*[(name, "mine") for name in dropped.split()], *kept, ("X-Title", "  padded\t")]
    sent = outgoing(OPENAI, "POST", "/responses", headers, "{}")
    assert sent.headers == (*kept, ("x-title", "padded"))


def test_a_body_has_a_cap_in_bytes_and_is_utf_8() -> None:
    assert outgoing(SYSTEMONE, "POST", "/v1/systemone", (), "é" * 5).body == "é".encode() * 5
    assert refusal(SYSTEMONE, "POST", "/v1/systemone", (), "é" * 5 + "x") == "too_large"
    assert refusal(OPENAI, "POST", "/responses", (), "\ud800") == "refused"
    assert outgoing(SYSTEMONE, "GET", "/v1/models", (), "x" * 100).body == b""


FRAME = {"type": "upstream_request", "request": 0, "upstream": "a", "method": "POST", "path": "/", "body": ""}


@pytest.mark.parametrize(
    "changes",
    [
        {"request": -1},
        {"request": True},
        {"request": "0"},
        {"request": None},
        {"upstream": None},
        {"method": 1},
        {"path": []},
        {"body": {"a": 1}},
        {"headers": None},
        {"headers": {"a": "b"}},
        {"headers": [["a"]]},
        {"headers": [["a", 1]]},
        {"headers": ["ab"]},
    ],
)
def test_a_frame_of_another_shape_is_the_recorder_s_fault(changes: dict[str, Any]) -> None:
    with pytest.raises(FrameError):
        parse_request(FRAME | {"headers": []} | changes)
    assert request_number(FRAME) == 0
