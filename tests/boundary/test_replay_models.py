"""Calls of models and decisions, recorded live and replayed: the same bytes, the same events, nobody is called."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from engine_driver import begin_frame
from test_decision_calls import GOOD
from upstream_driver import ANTHROPIC, CHAT, DECISION, MESSAGES, OPENAI, SYSTEMONE, Answer, Pod, body_of, model_fault

from arci.boundary.message import Control, Launch
from arci.run.replay_calls import recorded_calls

ABOUT: dict[str, Any] = {"era": "legacy", "revision": "2025-11-25", "capabilities": {"tools": {}}, "info": {}}
SERVERS = [{"name": "tools", "about": {**ABOUT, "instructions": None}, "tools": []}]
STREAMED = {**CHAT, "stream": True}
DECISIONS = "/up/decisions/v1/systemone"


class Again(Pod):
    """A replay of what a live pod recorded, with the same upstreams."""

    def __init__(self, live: Pod, *upstreams: dict[str, Any], **begin: Any) -> None:
        super(Pod, self).__init__()
        events = json.loads(json.dumps(live.events()))
        replay = {"servers": SERVERS, "calls": list(recorded_calls(events)), "death": None}
        frame = {**begin_frame(**begin), "upstreams": list(upstreams or (OPENAI, ANTHROPIC)), "replay": replay}
        self.handle(Control(frame))


def comparable(pod: Pod) -> list[dict[str, Any]]:
    """The events without times, and without whether somebody was really asked."""
    return [{key: value for key, value in e.items() if key not in ("at_s", "executed")} for e in pod.events()]


def shown(answer: Answer) -> tuple[Any, ...]:
    return answer.status, answer.fields, answer.body, answer.is_whole


def json_of(name: str) -> bytes:
    """A recorded body as a replay writes it: the same JSON without blanks."""
    return json.dumps(json.loads(body_of(name)), separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("path", "asked", "body"),
    [
        ("/up/openai/chat/completions", CHAT, json_of("openai-chat.json")),
        ("/up/openai/chat/completions", STREAMED, body_of("openai-chat.sse")),
        ("/up/anthropic/v1/messages", MESSAGES, json_of("anthropic-messages.json")),
        ("/up/anthropic/v1/messages", {**MESSAGES, "stream": True}, body_of("anthropic-messages.sse")),
    ],
)
def test_a_recorded_answer_is_served_again_chunk_by_chunk(path: str, asked: Any, body: bytes) -> None:
    live = Pod(OPENAI, ANTHROPIC)
    first = live.post(asked, path)
    live.gives(body, cuts=(10, 100))
    again = Again(live)
    second = again.post(asked, path)
    assert shown(again.got(second)) == shown(live.got(first))
    assert again.written(second) == live.written(first)
    assert comparable(again) == comparable(live)
    assert again.told("upstream_request") == []


FAULTS = ["model_rate_limited", "model_error", "model_overloaded", "model_malformed", "model_empty", "model_timeout"]


@pytest.mark.parametrize("name", FAULTS)
def test_an_injected_failure_is_served_as_it_was(name: str) -> None:
    live = Pod(OPENAI, faults=[model_fault(name)])
    first = live.post()
    if name == "model_timeout":
        live.close(first)
    again = Again(live, OPENAI)
    second = again.post()
    if name == "model_timeout":
        assert again.written(second) == b""
        again.close(second)
    assert again.written(second) == live.written(first)
    assert comparable(again) == comparable(live)


def test_a_stream_that_was_cut_is_cut_in_the_same_place() -> None:
    live = Pod(OPENAI, faults=[model_fault("model_truncated_stream")])
    first = live.post(STREAMED)
    live.gives(body_of("openai-chat.sse"))
    again = Again(live, OPENAI)
    second = again.post(STREAMED)
    assert again.got(second).body == live.got(first).body
    assert not again.got(second).is_whole
    assert comparable(again) == comparable(live)


def test_what_a_slow_answer_waited_for_is_not_waited_for_again() -> None:
    live = Pod(OPENAI, faults=[model_fault("model_slow", ms=30_000)])
    live.post()
    live.due("model")
    live.gives(json_of("openai-chat.json"))
    again = Again(live, OPENAI)
    assert again.got(again.post()).status == 200
    assert comparable(again) == comparable(live)
    assert again.wakes() == []


def test_the_same_question_gets_its_answers_in_their_order_and_then_a_miss() -> None:
    live = Pod(OPENAI)
    for number in range(2):
        live.post()
        live.gives(json.dumps({"n": number}).encode(), request=number)
    again = Again(live, OPENAI)
    assert [again.got(again.post()).json for _ in range(2)] == [{"n": 0}, {"n": 1}]
    assert again.got(again.post()).status == 502
    (miss,) = again.told("replay_miss")
    assert (miss["call"]["name"], miss["recorded"]) == ("openai /chat/completions", 2)


def test_another_question_is_a_miss_that_names_the_nearest() -> None:
    live = Pod(OPENAI)
    for number, text in enumerate(("hello", "bye")):
        live.post({**CHAT, "messages": [{"role": "user", "content": text}], "temperature": number})
        live.gives(json_of("openai-chat.json"), request=number)
    again = Again(live, OPENAI)
    again.post({**CHAT, "messages": [{"role": "user", "content": "what?"}], "temperature": 1})
    (miss,) = again.told("replay_miss")
    assert (miss["call"]["kind"], miss["nearest"], miss["recorded"]) == ("model", 1, 0)


@pytest.mark.parametrize("key", ["metadata", "user"])
def test_who_asks_is_not_compared(key: str) -> None:
    live = Pod(OPENAI)
    live.post({**CHAT, key: "a" if key == "user" else {"run": "1"}})
    live.gives(json_of("openai-chat.json"))
    again = Again(live, OPENAI)
    again.post({**CHAT, key: "b" if key == "user" else {"run": "2"}})
    assert again.told("replay_miss") == []


def test_a_long_question_is_found_by_its_digest() -> None:
    long = {**CHAT, "messages": [{"role": "user", "content": "x" * 100_000}]}
    live = Pod(OPENAI)
    live.post(long)
    live.gives(json_of("openai-chat.json"))
    again = Again(live, OPENAI)
    assert again.got(again.post(long)).status == 200


def test_an_answer_that_is_too_long_for_the_record_is_a_miss_that_says_so() -> None:
    live = Pod(OPENAI)
    live.post()
    live.gives(json.dumps({"text": "x" * (1 << 20)}).encode())
    again = Again(live, OPENAI)
    again.post()
    (miss,) = again.told("replay_miss")
    assert miss["is_too_long"] is True


def test_tokens_count_against_their_budget_in_a_replay_too() -> None:
    live = Pod(OPENAI, budgets={"max_tokens": 1})
    live.post()
    live.gives(json_of("openai-chat.json"))
    again = Again(live, OPENAI, budgets={"max_tokens": 1})
    again.post()
    assert again.told("latched") == live.told("latched") != []


def test_what_is_counted_by_length_counts_as_it_was_written_then() -> None:
    """A provider indents its JSON; a replay does not."""
    body = json.dumps({"error": {"message": "no such tool"}}, indent=400).encode()
    live = Pod(OPENAI, budgets={"max_tokens": len(body) // 4})
    live.post()
    live.gives(body, status=400)
    again = Again(live, OPENAI, budgets={"max_tokens": len(body) // 4})
    again.post()
    assert again.told("latched") == live.told("latched") != []


def test_a_list_of_models_is_served_from_the_recording() -> None:
    live = Pod(OPENAI)
    first = live.post(b"", "/up/openai/models", "GET")
    live.gives(b'{"data":[]}')
    again = Again(live, OPENAI)
    second = again.post(b"", "/up/openai/models", "GET")
    assert again.got(second).json == live.got(first).json == {"data": []}
    assert comparable(again) == comparable(live)


# Decisions


def deciding(*faults: dict[str, Any], **begin: Any) -> Pod:
    return Pod({**SYSTEMONE, "max_decisions": 2}, faults=list(faults), **begin)


def answered(live: Pod) -> None:
    live.gives(json.dumps(GOOD).encode())


def refused(live: Pod) -> None:
    live.gives(b'{"error":"busy"}', status=503)


def nothing(live: Pod) -> None:
    """A fault has answered."""


@pytest.mark.parametrize(
    ("faults", "answer", "status"),
    [
        ((), answered, 200),
        ((), refused, 503),
        ((model_fault("decision_unavailable"),), nothing, 529),
        ((model_fault("decision_low_confidence"),), answered, 200),
    ],
)
def test_a_decision_is_served_as_the_agent_got_it(
    faults: tuple[Any, ...], answer: Callable[[Pod], None], status: int
) -> None:
    live = deciding(*faults)
    first = live.post(DECISION, DECISIONS)
    answer(live)
    again = Again(live, SYSTEMONE)
    second = again.post(DECISION, DECISIONS)
    assert again.got(second).status == live.got(first).status == status
    assert again.got(second).json == live.got(first).json
    assert comparable(again) == comparable(live)
    assert again.told("upstream_request") == []


def test_the_fixture_of_the_decisions_does_not_run_in_a_replay() -> None:
    live = deciding()
    live.post(DECISION, DECISIONS)
    answered(live)
    again = Again(live, {**SYSTEMONE, "fixture": "app:decide"})
    assert again.got(again.post(DECISION, DECISIONS)).status == 200
    assert not [action for action in again.actions if isinstance(action, Launch)]


def test_another_decision_is_a_miss() -> None:
    live = deciding()
    live.post(DECISION, DECISIONS)
    answered(live)
    again = Again(live, SYSTEMONE)
    connection = again.post({**DECISION, "state": {"ticket": "other"}}, DECISIONS)
    assert again.got(connection).status == 502
    (miss,) = again.told("replay_miss")
    assert (miss["call"]["name"], miss["nearest"]) == ("decision:systemone", 0)
