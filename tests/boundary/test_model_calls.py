"""Calls of models: relayed as they come, recorded whole, counted, cut at their budgets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from upstream_driver import ANTHROPIC, CHAT, MESSAGES, OPENAI, Pod, body_of

from arci.boundary.model_call import is_pinned
from arci.boundary.model_record import RESPONSE_BYTES, messages_digest
from arci.boundary.prices import cost_usd
from arci.model.canonical import canonical, digest

STREAM = {**CHAT, "stream": True}
TEXT, TEXT_SSE = body_of("openai-text.json"), body_of("openai-text.sse")
SSE = "text/event-stream"


def test_a_call_is_recorded_from_start_to_finish() -> None:
    pod = Pod()
    connection = pod.post()
    pod.gives(TEXT)
    start, finish = pod.events()
    assert {
        k: start[k] for k in ("kind", "upstream", "call_id", "occurrence", "path", "model", "stream", "request")
    } == {
        "kind": "model_start",
        "upstream": "openai",
        "call_id": 0,
        "occurrence": 0,
        "path": "/chat/completions",
        "model": "gpt-4o",
        "stream": False,
        "request": CHAT,
    }
    wanted: dict[str, Any] = {
        "kind": "model_finish",
        "upstream": "openai",
        "call_id": 0,
        "occurrence": 0,
        "status": 200,
        "ok": True,
        "error_kind": None,
        "injected_by": None,
        "model": "gpt-4o-2024-08-06",
        "text": "Hello, wörld 🌍",
        "tool_calls": [],
        "usage": {"input_tokens": 9, "output_tokens": 5, "cached_input_tokens": 0},
        "cost_usd": None,
        "response": json.loads(TEXT),
        "chunks": [len(TEXT)],
        "executed": True,
    }
    assert {k: finish[k] for k in wanted} == wanted
    answer = pod.got(connection)
    assert (answer.status, answer.body, answer.fields["content-length"]) == (200, TEXT, str(len(TEXT)))


def test_an_answer_that_is_no_stream_leaves_as_a_whole() -> None:
    pod = Pod()
    connection = pod.post()
    pod.head()
    pod.chunks(TEXT[:10], TEXT[10:])
    assert pod.written(connection) == b""
    pod.host("upstream_end")
    assert (pod.got(connection).body, pod.finish["chunks"]) == (TEXT, [10, len(TEXT) - 10])


def test_each_piece_of_a_stream_leaves_as_it_comes() -> None:
    pod = Pod()
    connection = pod.post(STREAM)
    pod.head(type=SSE)
    assert b"Transfer-Encoding: chunked\r\n" in pod.written(connection)
    seen = len(pod.written(connection))
    for piece in (TEXT_SSE[:7], TEXT_SSE[7:99], TEXT_SSE[99:]):
        pod.chunks(piece)
        assert pod.written(connection)[seen:] == b"%x\r\n%b\r\n" % (len(piece), piece)
        seen = len(pod.written(connection))
    assert pod.events("model_finish") == []
    pod.host("upstream_end")
    assert pod.written(connection)[seen:] == b"0\r\n\r\n"
    assert (pod.finish["chunks"], pod.finish["ok"]) == ([7, 92, len(TEXT_SSE) - 99], True)
    assert pod.finish["response"].encode() == TEXT_SSE


@given(cuts=st.lists(st.integers(1, len(TEXT_SSE) - 1), unique=True).map(sorted))
def test_however_a_stream_is_cut_the_record_is_the_same(cuts: list[int]) -> None:
    pod = Pod()
    connection = pod.post(STREAM)
    pod.gives(TEXT_SSE, cuts=cuts)
    finish = {k: v for k, v in pod.finish.items() if k not in ("chunks", "response_sha256", "response", "headers")}
    assert (finish["text"], finish["ok"], finish["usage"]) == ("Hello, wörld 🌍", True, None)
    assert pod.got(connection).body == TEXT_SSE
    assert sum(pod.finish["chunks"]) == len(TEXT_SSE)


def test_a_client_of_http_1_0_gets_a_stream_that_the_end_of_the_connection_ends() -> None:
    pod = Pod()
    connection = pod.post(STREAM, version="1.0")
    pod.gives(TEXT_SSE, cuts=[50])
    answer = pod.got(connection)
    assert (answer.body, "transfer-encoding" in answer.fields) == (TEXT_SSE, False)
    assert pod.has_ended_output(connection)


def test_only_what_an_sdk_reads_of_the_head_is_passed_back() -> None:
    pod = Pod()
    connection = pod.post()
    pod.host(
        "upstream_head",
        status=429,
        headers=[
            *(["content-type", "application/json"], ["retry-after", "3"], ["x-request-id", "r1"], ["server", "s"]),
            *(["x-ratelimit-remaining-requests", "0"], ["x-ratelimit-a\r\nb: c", "0"], ["x-ratelimit-b", "0\r\nc: d"]),
        ],
    )
    pod.chunks(b'{"error":{"message":"slow down"}}')
    pod.host("upstream_end")
    fields = pod.got(connection).fields
    assert set(fields) == {
        "content-type",
        "content-length",
        "retry-after",
        "x-request-id",
        "x-ratelimit-remaining-requests",
    }
    assert (pod.finish["ok"], pod.finish["error_kind"], pod.finish["status"]) == (False, "rate_limited", 429)


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "refused"), (500, "error"), (503, "overloaded"), (529, "overloaded"), (599, "error")]
)
def test_an_error_of_the_upstream_reaches_the_agent_as_it_is(status: int, kind: str) -> None:
    pod = Pod()
    connection = pod.post()
    pod.gives(b'{"error":{"message":"no"}}', status=status)
    assert (pod.got(connection).status, pod.got(connection).json) == (status, {"error": {"message": "no"}})
    assert (pod.finish["error_kind"], pod.finish["usage"]) == (kind, None)


def test_a_200_that_cannot_be_read_is_passed_on_and_recorded_as_malformed() -> None:
    pod = Pod()
    connection = pod.post()
    pod.gives(b'{"id": ')
    assert (pod.got(connection).body, pod.finish["error_kind"], pod.finish["response"]) == (
        b'{"id": ',
        "malformed",
        '{"id": ',
    )


def test_an_error_within_a_stream_is_no_success() -> None:
    pod = Pod()
    pod.post(STREAM)
    pod.gives(b'data: {"error":{"message":"overheated"}}\n\n')
    assert (pod.finish["ok"], pod.finish["error_kind"]) == (False, "error")


def test_an_upstream_that_fails_before_any_byte_is_a_502_in_the_providers_shape() -> None:
    pod = Pod(ANTHROPIC)
    connection = pod.post(MESSAGES, "/up/anthropic/v1/messages")
    pod.host("upstream_failed", kind="timeout", detail="nothing for 60 s")
    answer = pod.got(connection)
    assert (answer.status, answer.json["type"], answer.json["error"]["type"]) == (502, "error", "api_error")
    assert (pod.finish["error_kind"], pod.finish["detail"]) == ("failed", "timeout: nothing for 60 s")
    assert b"60" not in answer.body


def test_an_upstream_that_fails_within_a_stream_cuts_it() -> None:
    pod = Pod()
    connection = pod.post(STREAM)
    pod.head(type=SSE)
    pod.chunks(TEXT_SSE[:200])
    pod.host("upstream_failed", kind="protocol", detail="reset")
    answer = pod.got(connection)
    assert (answer.status, answer.body, answer.is_whole) == (200, TEXT_SSE[:200], False)
    assert pod.has_ended_output(connection)
    assert pod.finish["error_kind"] == "failed"


@pytest.mark.parametrize("how", ["close", "half_close"])
def test_an_agent_that_hangs_up_cancels_the_call_once(how: str) -> None:
    pod = Pod()
    connection = pod.post(STREAM)
    pod.head(type=SSE)
    pod.chunks(TEXT_SSE[:400])
    getattr(pod, how)(connection)
    pod.close(connection)
    assert [f["request"] for f in pod.told("upstream_cancel")] == [0]
    assert (pod.finish["error_kind"], pod.finish["ok"], pod.finish["text"]) == ("cancelled", False, "Hello, ")
    pod.chunks(TEXT_SSE[400:])
    pod.host("upstream_end")
    assert len(pod.events("model_finish")) == 1


@pytest.mark.parametrize("how", ["close", "half_close", "agent_gone"])
def test_an_agent_that_hangs_up_at_the_last_event_of_a_stream_has_had_it_all(how: str) -> None:
    """Clients do, so whether the stream's own end comes first is a matter of luck that no record may show."""
    records = []
    for is_first in (False, True):
        pod = Pod()
        connection = pod.post(STREAM)
        pod.head(type=SSE)
        pod.chunks(TEXT_SSE)
        if is_first:
            pod.host("upstream_end")
        if how == "agent_gone":
            pod.agent_gone()
            pod.due("drain")
        else:
            getattr(pod, how)(connection)
            pod.close(connection)
        records.append(pod.finish)
        assert len(pod.told("upstream_cancel")) == (0 if is_first else 1)
        pod.host("upstream_end")
        assert len(pod.events("model_finish")) == 1
    early, late = ({k: v for k, v in record.items() if k not in ("at_s", "seq")} for record in records)
    assert early == late
    assert (early["ok"], early["error_kind"], early["text"]) == (True, None, "Hello, wörld 🌍")


def test_an_agent_that_hangs_up_at_an_error_within_a_stream_met_that_error() -> None:
    pod = Pod()
    connection = pod.post(STREAM)
    pod.head(type=SSE)
    pod.chunks(b'data: {"error":{"message":"overheated"}}\n\n')
    pod.close(connection)
    assert (pod.finish["ok"], pod.finish["error_kind"]) == (False, "error")


def test_an_agent_that_is_gone_leaves_no_call_open() -> None:
    pod = Pod()
    pod.post()
    pod.post()
    pod.agent_gone()
    pod.due("drain")
    assert [e["error_kind"] for e in pod.events("model_finish")] == ["cancelled", "cancelled"]
    assert len(pod.told("upstream_cancel")) == 2
    pod.reply({"state": {}})
    assert pod.told("end") == [{"type": "end", "count": len(pod.events())}]


def test_responses_keep_the_order_of_requests_on_one_connection_whatever_comes_first() -> None:
    pod = Pod()
    connection = pod.post(STREAM)
    pod.post(connection=connection)
    pod.gives(TEXT, 1)
    assert pod.written(connection) == b""
    pod.gives(TEXT_SSE, 0, cuts=[10])
    assert [a.body for a in pod.all_got(connection)] == [TEXT_SSE, TEXT]


def test_a_cut_response_takes_those_behind_it_along() -> None:
    pod = Pod()
    connection = pod.post(STREAM)
    pod.post(connection=connection)
    pod.head(type=SSE)
    pod.host("upstream_failed", kind="protocol", detail="d")
    assert [e["error_kind"] for e in pod.events("model_finish")] == ["failed", "cancelled"]
    assert [f["request"] for f in pod.told("upstream_cancel")] == [1]


# Models and digests


def test_another_model_than_the_pinned_one_is_refused_by_name_and_costs_nothing() -> None:
    pod = Pod({**OPENAI, "model": "gpt-4o"}, budgets={"max_model_calls": 1})
    answer = pod.got(pod.post({**CHAT, "model": "gpt-4o-mini"}))
    assert (answer.status, "'gpt-4o-mini'" in answer.json["error"]["message"]) == (400, True)
    assert (pod.kinds(), pod.told("upstream_request")) == (["protocol"], [])
    pod.post()
    assert len(pod.told("upstream_request")) == 1


def test_an_answer_of_another_model_is_refused_and_voids_the_trial() -> None:
    pod = Pod({**OPENAI, "model": "gpt-4"})
    connection = pod.post({**CHAT, "model": "gpt-4"})
    pod.gives(TEXT.replace(b"gpt-4o-2024", b"gpt-4o-mini-2024"))
    assert (pod.got(connection).status, pod.finish["error_kind"]) == (502, "model")
    assert "'gpt-4' is pinned" in pod.told("trouble")[0]["detail"]


def test_a_stream_of_another_model_ends_without_its_end() -> None:
    pod = Pod({**OPENAI, "model": "other"})
    connection = pod.post({**STREAM, "model": "other"})
    pod.gives(TEXT_SSE)
    assert (pod.got(connection).is_whole, pod.finish["error_kind"]) == (False, "model")


@pytest.mark.parametrize(
    ("model", "pin", "same"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o-2024-08-06", "gpt-4o", True),
        ("claude-x-20250514", "claude-x", True),
        ("claude-x-20250514", "claude-x-latest", True),
        ("gpt-4o-mini", "gpt-4o", False),
        ("gpt-4o-mini-2024-07-18", "gpt-4o", False),
        ("gpt-4", "gpt-4o", False),
        ("gpt-4o-", "gpt-4o", False),
        ("gpt-4o", "gpt-4o-2024-08-06", False),
    ],
)
def test_a_dated_version_of_the_pin_is_the_pin(model: str, pin: str, same: bool) -> None:
    assert is_pinned(model, pin) is same


def test_the_digest_is_of_the_canonical_body_without_how_and_for_whom() -> None:
    body = {"z": [1, 1.5, "ü🌍", None, True], "model": "m", "a": {"y": 1, "x": -0.0}}
    more = {**body, "stream": True, "stream_options": {"include_usage": True}, "metadata": {"run": 7}, "user": "u"}
    assert messages_digest(more) == messages_digest(body) == digest(body)
    assert messages_digest({**body, "a": 1}) != digest(body)
    assert canonical(body).startswith(b'{"a":{"x":-0.0,')


# Budgets


def test_ten_thousand_calls_are_cut_at_the_budget() -> None:
    pod = Pod(OPENAI, ANTHROPIC, budgets={"max_model_calls": 7})
    connection = pod.connect()
    for number in range(10_000):
        pod.actions = [a for a in pod.actions if type(a).__name__ == "Tell"] if number % 1000 == 0 else pod.actions
        pod.post(connection=connection)
        if number < 7:
            pod.gives(TEXT, number)
    assert len(pod.told("upstream_request")) == len(pod.events("model_start")) == len(pod.events("model_finish")) == 7
    assert pod.told("latched") == [{"type": "latched", "budget": "max_model_calls"}]
    assert {a.status for a in pod.all_got(connection)} == {403}
    assert pod.got(pod.post(MESSAGES, "/up/anthropic/v1/messages")).json["error"]["type"] == "permission_error"


def test_tokens_latch_when_overrun_and_with_the_next_call_when_exactly_used_up() -> None:
    for limit, latched_at in ((13, 1), (14, 2), (27, 2), (1000, None)):
        pod = Pod(budgets={"max_tokens": limit})
        for number in range(3):
            pod.post()
            if len(pod.told("upstream_request")) > number:
                pod.gives(TEXT, number)
            is_latched = pod.told("latched") == [{"type": "latched", "budget": "max_tokens"}]
            assert is_latched is (latched_at is not None and number + 1 >= latched_at)


def test_money_is_counted_by_the_descriptors_prices() -> None:
    prices = {"gpt-4o": {"input": 2.5, "output": 10.0, "cached_input": 1.25}}
    pod = Pod({**OPENAI, "prices": prices}, budgets={"max_usd": 0.001})
    pod.post()
    pod.gives(body_of("openai-chat.json"))
    assert pod.finish["cost_usd"] == pytest.approx((18 * 2.5 + 64 * 1.25 + 34 * 10) / 1e6)
    assert pod.told("latched") == []
    for number in (1, 2):
        pod.post()
        pod.gives(body_of("openai-chat.json"), number)
    assert pod.told("latched") == [{"type": "latched", "budget": "max_usd"}]


def test_a_price_is_that_of_the_answering_model_then_of_the_asked_one_then_of_any() -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 0, "cached_input_tokens": 0}
    prices = {"dated": {"input": 1.0}, "asked": {"input": 2.0}, "*": {"input": 3.0}}
    assert cost_usd(prices, ("dated", "asked"), usage) == 1.0
    assert cost_usd(prices, (None, "asked"), usage) == 2.0
    assert cost_usd(prices, ("x", "y"), usage) == 3.0
    assert cost_usd({"dated": {"input": 1.0}}, ("x", "y"), usage) is None
    assert cost_usd(prices, ("dated", "asked"), None) is None


def test_a_stream_that_tells_no_usage_is_not_free() -> None:
    pod = Pod(budgets={"max_tokens": 100})
    pod.post(STREAM)
    pod.gives(TEXT_SSE)
    assert (pod.finish["usage"], pod.told("latched")) == (None, [{"type": "latched", "budget": "max_tokens"}])


def test_a_latched_tool_budget_ends_model_calls_too() -> None:
    pod = Pod(budgets={"max_model_steps": 0})
    worker = pod.open()
    pod.send(
        worker, b'{"jsonrpc":"2.0","method":"notifications/arci/model_step","params":{"summary":"s","facts":{}}}\n'
    )
    assert pod.told("latched") != []
    assert (pod.got(pod.post()).status, pod.events("model_start")) == (403, [])


def test_a_long_answer_is_recorded_by_its_head_and_digest() -> None:
    pod = Pod()
    body = json.dumps({"choices": [{"message": {"content": "x" * (RESPONSE_BYTES + 1)}}]}).encode()
    connection = pod.post({**CHAT, "pad": "y" * 70_000})
    pod.gives(body)
    assert pod.got(connection).body == body
    assert (len(pod.finish["response"]), len(pod.finish["text"])) == (RESPONSE_BYTES, 65536)
    assert isinstance(pod.events("model_start")[0]["request"], str)


def test_an_answer_with_what_no_record_can_carry_is_recorded_as_text() -> None:
    pod = Pod(ANTHROPIC)
    pod.post(MESSAGES, "/up/anthropic/v1/messages")
    body = b'{"model":"claude","content":[{"type":"tool_use","name":"t","input":{"x":NaN,"y":1e999,"z":"\\ud800"}}]}'
    pod.gives(body)
    assert pod.finish["response"] == body.decode()
    assert pod.finish["tool_calls"] == [{"name": "t", "arguments": {"x": None, "y": None, "z": "\ud800"}}]


def test_a_frame_of_the_host_that_cannot_be_read_is_trouble_of_the_harness() -> None:
    pod = Pod()
    pod.post()
    pod.host("upstream_chunk", data="*")
    pod.host("upstream_head", status="x", headers=[])
    assert [t["blame"] for t in pod.told("trouble")][-1] == "harness"
    pod.host("upstream_end", 99)
    assert pod.events("model_finish") == []
