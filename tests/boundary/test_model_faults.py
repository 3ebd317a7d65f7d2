"""Faults of models: what the agent sees, what is recorded, and whether the upstream is called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_driver import fault
from upstream_driver import ANTHROPIC, CHAT, MESSAGES, OPENAI, Pod, body_of, model_fault

from arci.boundary.anthropic_answers import read as read_anthropic
from arci.boundary.openai_answers import read as read_openai
from arci.wire.sse import split_events

ROUTES = [
    ("openai", "/up/openai/chat/completions", CHAT),
    ("openai", "/up/openai/responses", {"model": "gpt-4o", "input": "hi"}),
    ("anthropic", "/up/anthropic/v1/messages", MESSAGES),
]
SSE = body_of("openai-chat.sse")


def faulty(name: str, **params: Any) -> Pod:
    return Pod(OPENAI, ANTHROPIC, faults=[model_fault(name, **params)])


def outcome(pod: Pod) -> tuple[Any, ...]:
    finish = pod.finish
    return finish["ok"], finish["error_kind"], finish["injected_by"], finish["executed"], finish["status"]


@pytest.mark.parametrize(("kind", "path", "body"), ROUTES)
@pytest.mark.parametrize(
    ("name", "status", "error_kind"),
    [
        ("model_error", 500, "error"),
        ("model_overloaded", 529, "overloaded"),
        ("model_rate_limited", 429, "rate_limited"),
    ],
)
def test_an_error_comes_in_the_providers_shape(
    kind: str, path: str, body: Any, name: str, status: int, error_kind: str
) -> None:
    pod = faulty(name)
    answer = pod.got(pod.post(body, path))
    assert (answer.status, answer.json["error"]["message"] != "") == (status, True)
    assert (answer.json.get("type") == "error") is (kind == "anthropic")
    assert answer.fields.get("retry-after") == ("1" if status == 429 else None)
    assert outcome(pod) == (False, error_kind, name, False, status)
    (injection,) = pod.events("injection")
    assert {k: injection[k] for k in ("fault", "fault_index", "tool", "occurrence", "call_id")} == {
        "fault": name,
        "fault_index": 0,
        "tool": f"model:{kind}",
        "occurrence": 0,
        "call_id": 0,
    }
    assert pod.kinds() == ["model_start", "injection", "model_finish"]
    assert b"fault" not in answer.body.lower()


def test_retry_after_is_a_param() -> None:
    pod = faulty("model_rate_limited", retry_after_s=2.5)
    assert pod.got(pod.post()).fields["retry-after"] == "2.5"


def test_faults_key_on_the_occurrence_per_upstream_and_never_meet_tools() -> None:
    pod = Pod(OPENAI, ANTHROPIC, faults=[model_fault("model_error", 1), fault("tool_error_once", None)])
    statuses = []
    for number, (path, body) in enumerate(
        [(ROUTES[0][1], CHAT), (ROUTES[2][1], MESSAGES), (ROUTES[0][1], CHAT), (ROUTES[2][1], MESSAGES)]
    ):
        connection = pod.post(body, path)
        if number < 2:
            pod.gives(b'{"content":[],"choices":[]}', number)
        statuses.append(pod.got(connection).status)
    assert statuses == [200, 200, 500, 500]
    assert {e["fault"] for e in pod.events("injection")} == {"model_error"}


def test_a_fault_may_name_its_upstream() -> None:
    pod = faulty("model_error", tool="model:anthropic")
    pod.post()
    assert len(pod.told("upstream_request")) == 1
    assert pod.got(pod.post(MESSAGES, ROUTES[2][1])).status == 500


def test_a_timeout_is_silence_until_its_time_and_then_the_end_of_the_connection() -> None:
    pod = faulty("model_timeout", after_ms=5000)
    connection = pod.post()
    assert (pod.written(connection), pod.events("model_finish")) == (b"", [])
    pod.due("model")
    assert (pod.written(connection), pod.has_ended_output(connection), pod.now_s) == (b"", True, 105.0)
    assert outcome(pod) == (False, "timeout", "model_timeout", False, None)


@pytest.mark.parametrize("how", ["hangs up", "is gone"])
def test_a_timeout_is_recorded_alike_whether_the_agent_waits_hangs_up_or_is_gone(how: str) -> None:
    pod = faulty("model_timeout")
    connection = pod.post()
    if how == "hangs up":
        pod.close(connection)
    else:
        pod.agent_gone()
        pod.due("drain")
    assert outcome(pod) == (False, "timeout", "model_timeout", False, None)
    assert pod.told("upstream_cancel") == []
    pod.due("model")
    assert len(pod.events("model_finish")) == 1


def test_a_slow_model_is_asked_later() -> None:
    pod = faulty("model_slow", ms=750)
    connection = pod.post()
    assert pod.told("upstream_request") == []
    pod.due("model")
    assert (pod.now_s, len(pod.told("upstream_request"))) == (100.75, 1)
    pod.gives(body_of("openai-text.json"))
    assert pod.got(connection).status == 200
    assert outcome(pod) == (True, None, "model_slow", True, 200)


def test_an_agent_that_gives_up_on_a_slow_model_spares_the_upstream() -> None:
    pod = faulty("model_slow")
    pod.close(pod.post())
    pod.due("model")
    assert (pod.told("upstream_request"), outcome(pod)[1]) == ([], "cancelled")


@pytest.mark.parametrize(("keep", "events"), [(None, 5), (0, 0), (3, 3), (1000, 9)])
def test_a_cut_stream_ends_after_so_many_events_and_is_recorded_so(keep: int | None, events: int) -> None:
    params = {} if keep is None else {"keep_chunks": keep}
    pod = faulty("model_truncated_stream", **params)
    connection = pod.post({**CHAT, "stream": True})
    pod.gives(SSE, cuts=[100, 700])
    answer = pod.got(connection)
    assert (answer.status, answer.is_whole, pod.has_ended_output(connection)) == (200, False, True)
    assert len(split_events(SSE)[0]) == 10
    assert answer.body == b"".join(split_events(SSE)[0][:events])
    assert outcome(pod) == (False, "truncated", "model_truncated_stream", True, 200)
    assert pod.finish["response"].encode() == answer.body
    assert pod.finish["usage"]["output_tokens"] == 34


def test_an_answer_that_is_no_stream_is_cut_in_half() -> None:
    pod = faulty("model_truncated_stream")
    connection = pod.post()
    body = body_of("openai-text.json")
    pod.gives(body)
    answer = pod.got(connection)
    assert (answer.body, answer.is_whole) == (body[: len(body) // 2], False)


def test_an_error_of_the_upstream_is_not_cut() -> None:
    pod = faulty("model_truncated_stream")
    connection = pod.post()
    pod.gives(b'{"error":{}}', status=400)
    assert (pod.got(connection).status, pod.got(connection).is_whole) == (400, True)


@pytest.mark.parametrize(("kind", "path", "body"), ROUTES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_malformed_answer_is_a_200_that_is_no_json(kind: str, path: str, body: Any, stream: bool) -> None:
    pod = faulty("model_malformed")
    answer = pod.got(pod.post({**body, "stream": stream}, path))
    assert (answer.status, answer.is_whole) == (200, True)
    text = answer.body.decode().partition("data: ")[2] if stream else answer.body.decode()
    with pytest.raises(ValueError, match="char"):
        json.loads(text)
    assert answer.fields["content-type"] == ("text/event-stream" if stream else "application/json")
    assert outcome(pod) == (False, "malformed", "model_malformed", False, 200)


@pytest.mark.parametrize(("kind", "path", "body"), ROUTES)
@pytest.mark.parametrize("stream", [False, True])
def test_an_empty_answer_is_valid_and_says_nothing(kind: str, path: str, body: Any, stream: bool) -> None:
    pod = faulty("model_empty")
    answer = pod.got(pod.post({**body, "stream": stream}, path))
    route = path.rpartition("/")[2].replace("completions", "chat")
    read = read_anthropic(answer.body, stream) if kind == "anthropic" else read_openai(route, answer.body, stream)
    assert (read.is_whole, read.text, read.tool_calls, read.model) == (True, "", [], body["model"])
    assert outcome(pod) == (True, None, "model_empty", False, 200)


def test_embeddings_can_be_empty_too() -> None:
    pod = faulty("model_empty")
    assert pod.got(pod.post({"model": "e", "input": "x"}, "/up/openai/embeddings")).json["data"] == []


def test_the_first_fault_that_answers_shadows_those_behind_it_and_a_delay_adds_up() -> None:
    names: list[tuple[str, Any]] = [
        ("model_slow", {"ms": 100}),
        ("model_slow", {"ms": 200}),
        ("model_error", {}),
        ("model_empty", {}),
    ]
    pod = Pod(faults=[model_fault(name, **params) for name, params in names])
    connection = pod.post()
    pod.due("model")
    assert pod.now_s == pytest.approx(100.3)
    assert pod.got(connection).status == 500
    assert [e["fault_index"] for e in pod.events("injection")] == [0, 1, 2]


def test_what_a_fault_answers_uses_no_tokens() -> None:
    pod = Pod(budgets={"max_tokens": 1}, faults=[model_fault("model_empty", kind="every")])
    assert [pod.got(pod.post()).status for _ in range(3)] == [200, 200, 200]
    assert pod.told("latched") == []


def test_every_injected_call_counts_as_a_call() -> None:
    pod = Pod(budgets={"max_model_calls": 2}, faults=[model_fault("model_error", kind="every")])
    assert [pod.got(pod.post()).status for _ in range(3)] == [500, 500, 403]
