"""Upstreams on the HTTP port: who may ask, what is served, and refusals in the provider's own shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_driver import Core, begin_frame
from upstream_driver import ANTHROPIC, CHAT, MESSAGES, OPENAI, SYSTEMONE, Pod, body_of

from arci.boundary.message import Control

MESSAGES_PATH = "/up/anthropic/v1/messages"


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/up/openai/chat/completions", {}, None),
        ("/up/openai/chat/completions?x=/y", {}, None),
        ("/a/up/openai/chat/completions", {"Authorization": ""}, None),
        ("/up/openai/chat/completions", {"Authorization": "", "x_api_key": "a"}, None),
        ("/up/openai/chat/completions", {"Authorization": "", "api_key": "a"}, None),
        ("/up/openai/chat/completions", {"Authorization": "Bearer b", "x_api_key": "a"}, None),
        ("/up/openai/chat/completions", {"Authorization": "bearer  a"}, None),
        ("/up/openai/chat/completions", {"Authorization": ""}, 401),
        ("/up/openai/chat/completions", {"Authorization": "Bearer b"}, 401),
        ("/up/openai/chat/completions", {"Authorization": "Basic a"}, 401),
        ("/b/up/openai/chat/completions", {}, 401),
        ("/up/nosuch/chat/completions", {}, 404),
        ("/up/nosuch/chat/completions", {"Authorization": ""}, 401),
        ("/up/openai/chat/completions/", {}, 404),
        ("/up/openai/../openai/chat/completions", {}, 404),
        ("/up/openai//chat/completions", {}, 404),
        ("/up/openai", {}, 404),
        ("/up", {}, 404),
        ("/up/openai/files", {}, 404),
        ("/up/openai/chat/completions", {"Content_Encoding": "gzip"}, 415),
        ("/up/openai/chat/completions", {"Content_Encoding": "identity"}, None),
    ],
)
def test_who_may_ask_and_what(path: str, fields: Any, status: int | None) -> None:
    pod = Pod()
    connection = pod.post(path=path, **fields)
    assert len(pod.told("upstream_request")) == (status is None)
    if status is not None:
        answer = pod.got(connection)
        assert (answer.status, pod.events()) == (status, [])
        assert set(answer.json["error"]) == {"message", "type", "param", "code"}


def test_no_credential_leaves_the_pod() -> None:
    pod = Pod()
    pod.post(x_api_key="a", api_key="a", Cookie="c=1", Accept_Encoding="gzip", OpenAI_Organization="o", Connection="x")
    (request,) = pod.told("upstream_request")
    assert request["headers"] == [["openai-organization", "o"]]
    assert (request["method"], request["path"], json.loads(request["body"])) == ("POST", "/chat/completions", CHAT)


def test_the_query_goes_along_and_is_not_compared() -> None:
    pod = Pod(ANTHROPIC)
    pod.post(MESSAGES, MESSAGES_PATH + "?beta=true", anthropic_version="2023-06-01")
    (request,), (start,) = pod.told("upstream_request"), pod.events("model_start")
    assert (request["path"], start["path"]) == ("/v1/messages?beta=true", "/v1/messages")
    assert request["headers"] == [["anthropic-version", "2023-06-01"]]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b'{"model":"x","model":"y"}',
        b'{"a":NaN}',
        b'{"a":1e999}',
        b"\xff",
        b"[" * 200,
        b'{"a":"\\ud800"}',
    ],
)
def test_a_body_that_is_no_clear_object_is_refused_as_the_provider_would(body: bytes) -> None:
    pod = Pod(OPENAI, ANTHROPIC)
    openai = pod.got(pod.post(body))
    assert (openai.status, openai.json["error"]["type"]) == (400, "invalid_request_error")
    anthropic = pod.got(pod.post(body, MESSAGES_PATH))
    assert (anthropic.status, anthropic.json["type"]) == (400, "error")
    assert anthropic.json["error"]["type"] == "invalid_request_error"
    assert pod.kinds() == ["protocol", "protocol"]
    assert pod.told("upstream_request") == []


def test_a_body_may_have_as_many_bytes_as_the_upstream_allows_with_a_length_or_in_chunks() -> None:
    limit = 1000
    fits = json.dumps({"model": "m", "x": ""}).encode()
    fits = json.dumps({"model": "m", "x": "y" * (limit - len(fits))}).encode()
    pod = Pod({**OPENAI, "max_body_bytes": limit})
    for body, status in ((fits, None), (fits.replace(b"y", b"yy", 1), 413)):
        framed = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        chunked = pod.post(framed, length=False, Transfer_Encoding="chunked")
        sized = pod.post(body)
        for connection in (chunked, sized):
            assert [a.status for a in pod.all_got(connection)] == ([] if status is None else [status])
    assert len(pod.told("upstream_request")) == 2


def test_a_pinned_model_is_the_whole_list_and_an_unpinned_one_is_looked_up() -> None:
    pod = Pod({**OPENAI, "model": "gpt-4o"}, {**ANTHROPIC, "model": "claude-x"}, {**OPENAI, "name": "free"}, SYSTEMONE)
    assert [m["id"] for m in pod.got(pod.post(b"", "/up/openai/models", "GET")).json["data"]] == ["gpt-4o"]
    anthropic = pod.got(pod.post(b"", "/up/anthropic/v1/models", "GET")).json
    assert ([m["id"] for m in anthropic["data"]], anthropic["first_id"]) == (["claude-x"], "claude-x")
    assert pod.got(pod.post(b"", "/up/decisions/v1/models", "GET")).json["models"][0]["name"] == "jev-1"
    assert pod.told("upstream_request") == []
    free = pod.post(b"", "/up/free/models?limit=5", "GET")
    (request,) = pod.told("upstream_request")
    assert (request["method"], request["path"], request["body"]) == ("GET", "/models?limit=5", "")
    pod.gives(b'{"object":"list","data":[]}')
    assert pod.got(free).json == {"object": "list", "data": []}
    (lookup,) = pod.events()
    assert (lookup["kind"], lookup["upstream"], lookup["status"]) == ("upstream_lookup", "free", 200)


def test_lookups_have_a_budget_of_their_own_that_latches_nothing() -> None:
    pod = Pod(ANTHROPIC, budgets={"max_model_calls": 2})
    count = [pod.post(MESSAGES, MESSAGES_PATH + "/count_tokens") for _ in range(3)]
    for number in range(2):
        pod.gives(b'{"input_tokens":5}', number)
    assert [pod.got(c).status for c in count] == [200, 200, 403]
    assert (pod.told("latched"), len(pod.events("model_start"))) == ([], 0)
    pod.post(MESSAGES, MESSAGES_PATH)
    assert len(pod.events("model_start")) == 1


def test_a_lookup_that_fails_or_is_given_up_is_told() -> None:
    pod = Pod()
    failed = pod.post(b"", "/up/openai/models", "GET")
    pod.host("upstream_failed", 0, kind="connect", detail="d")
    assert pod.got(failed).status == 502
    pod.close(pod.post(b"", "/up/openai/models", "GET"))
    assert [f["request"] for f in pod.told("upstream_cancel")] == [1]
    assert [e["error_kind"] for e in pod.events("upstream_lookup")] == ["connect", "cancelled"]


def test_in_a_rehearsal_nothing_is_asked_and_nothing_answered() -> None:
    pod = Pod(rehearsal=True)
    connection = pod.post()
    assert (pod.written(connection), pod.told("upstream_request"), pod.events()) == (b"", [], [])


def test_one_connection_serves_both_kinds_of_requests_in_order() -> None:
    pod = Pod()
    connection = pod.post()
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    pod.post(ping, "/a/mcp/tools", connection=connection)
    assert pod.written(connection) == b""
    pod.gives(body_of("openai-text.json"))
    assert [a.status for a in pod.all_got(connection)] == [200, 200]
    assert pod.all_got(connection)[1].json["id"] == 1


def test_a_first_request_for_any_other_place_is_closed_without_an_answer() -> None:
    pod = Pod()
    connection = pod.post(path="/v1/chat/completions")
    assert (pod.written(connection), pod.is_closed(connection)) == (b"", True)


def test_an_upstream_of_no_known_kind_is_trouble_of_the_harness() -> None:
    core = Core()
    core.handle(Control({**begin_frame(), "upstreams": [{**OPENAI, "kind": "nosuch"}]}))
    (trouble,) = core.told("trouble")
    assert (trouble["blame"], "nosuch" in trouble["detail"]) == ("harness", True)
