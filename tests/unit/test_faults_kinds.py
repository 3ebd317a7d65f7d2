"""Each built-in fault: its settings and its one decision."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.faults.action import Delay, Fail, Nothing, Replace
from arci.faults.answer import Answer, text_of
from arci.faults.call import Call
from arci.faults.registry import BUILTIN, make_fault

CALL = Call("get", {"a": 1}, 0, 0)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3),
)


def before(name: str, **params: Any) -> Any:
    return BUILTIN[name].make(params).before(CALL, None)


def after(name: str, answer: Answer, call: Call = CALL, **params: Any) -> Any:
    return BUILTIN[name].make(params).after(call, answer, None)


def replaced(name: str, value: Any, **params: Any) -> Any:
    action = after(name, Answer.of(value), **params)
    assert isinstance(action, Replace)
    return action.value


def test_the_kinds_are_the_documented_ones_and_noop_comes_first() -> None:
    assert list(BUILTIN) == [
        *("noop", "tool_timeout", "tool_error_once", "empty_result", "lost_response"),
        *("latency", "malformed_result", "stale_result", "truncated_result"),
        *("model_timeout", "model_rate_limited", "model_error", "model_overloaded", "model_truncated_stream"),
        *("model_slow", "model_malformed", "model_empty", "decision_low_confidence", "decision_unavailable"),
    ]
    assert all(kind.summary for kind in BUILTIN.values())


@pytest.mark.parametrize("name", BUILTIN)
def test_defaults_are_themselves_allowed_and_unknown_params_are_not(name: str) -> None:
    kind = BUILTIN[name]
    assert kind(kind.defaults) == []
    (problem,) = kind({"colour": "red"})
    assert problem.startswith(f"params.colour: unknown; {name} takes ")


@pytest.mark.parametrize(
    ("name", "param", "allowed"),
    [
        ("tool_timeout", "after_ms", "a number of milliseconds from 0 to 3600000 is allowed"),
        ("latency", "ms", "a number of milliseconds from 0 to 3600000 is allowed"),
        ("truncated_result", "keep_bytes", "a whole number of bytes from 0 to 8388608 is allowed"),
    ],
)
@pytest.mark.parametrize("value", [-1, True, "8", None, float("nan"), float("inf"), 10**9])
def test_a_wrong_value_is_named_with_what_is_allowed(name: str, param: str, allowed: str, value: Any) -> None:
    assert BUILTIN[name]({param: value}) == [f"params.{param}: {value!r}; {allowed}"]
    with pytest.raises(ValueError, match=f"fault {name}: params.{param}"):
        BUILTIN[name].make({param: value})


def test_every_mistake_is_listed() -> None:
    assert len(BUILTIN["latency"]({"ms": -1, "x": 1, "y": 2})) == 3


def test_bytes_are_whole_and_milliseconds_need_not_be() -> None:
    assert BUILTIN["truncated_result"]({"keep_bytes": 1.5}) != []
    assert BUILTIN["latency"]({"ms": 1.5}) == []


def test_noop_meets_a_call_and_changes_nothing() -> None:
    assert isinstance(before("noop"), Nothing)
    assert after("noop", Answer.of(1)) is None


def test_tool_timeout_is_not_executed_and_really_waits() -> None:
    action = before("tool_timeout", after_ms=250)
    assert isinstance(action, Fail)
    assert (action.kind, action.after_ms) == ("timeout", 250)
    assert before("tool_timeout").after_ms == 0


def test_tool_error_once_is_not_executed() -> None:
    action = before("tool_error_once")
    assert (type(action), action.kind) == (Fail, "error")


def test_a_lost_response_reads_like_a_timeout() -> None:
    lost = after("lost_response", Answer.of({"reserved": True}))
    assert (lost.kind, lost.detail) == ("timeout", before("tool_timeout").detail)
    assert before("lost_response") is None


def test_no_text_tells_the_agent_of_an_injection() -> None:
    for action in (before("tool_timeout"), before("tool_error_once"), after("lost_response", Answer.of(1))):
        assert "inject" not in action.detail
        assert "fault" not in action.detail


def test_latency_delays_the_answer() -> None:
    action = after("latency", Answer.of(1), ms=40)
    assert (type(action), action.ms) == (Delay, 40)


@pytest.mark.parametrize(
    ("value", "empty"), [({"a": 1}, {}), ([1], []), ("x", ""), (3, None), (True, None), (None, None)]
)
def test_empty_result_keeps_the_type_where_it_has_an_empty_value(value: Any, empty: Any) -> None:
    found = replaced("empty_result", value)
    assert (found, type(found)) == (empty, type(empty))


@given(JSON)
def test_a_malformed_result_has_another_type(value: Any) -> None:
    assert type(replaced("malformed_result", value)) is not type(value)


@pytest.mark.parametrize("name", ["empty_result", "malformed_result", "truncated_result"])
def test_a_failed_call_is_left_as_it_is(name: str) -> None:
    assert after(name, Answer.failure("error", "ValueError: this text is longer than sixteen bytes")) is None


def test_a_stale_result_is_the_answer_of_an_earlier_call() -> None:
    assert after("stale_result", Answer.of("new")) is None
    again = Call("get", {}, 1, 1, earlier=Answer.of("old"))
    action = after("stale_result", Answer.of("new"), again)
    assert (type(action), action.value) == (Replace, "old")


@given(JSON, st.integers(0, 20))
def test_a_truncated_result_is_a_prefix_of_at_most_so_many_bytes(value: Any, keep: int) -> None:
    text = text_of(value)
    action = after("truncated_result", Answer.of(value), keep_bytes=keep)
    if len(text.encode("utf-8", "surrogatepass")) <= keep:
        assert action is None
    else:
        assert text.startswith(action.value)
        assert keep - 3 <= len(action.value.encode()) <= keep


@given(JSON, JSON)
def test_a_rewritten_answer_says_the_same_in_text_and_structure(value: Any, other: Any) -> None:
    answer = Answer.of(value).with_value(other)
    assert answer.value == other
    assert answer.text == text_of(other)
    assert answer.ok
    assert isinstance(other, str) or json.loads(answer.text) == other


def test_an_answer_of_text_alone_stays_one() -> None:
    answer = Answer({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]})
    assert (answer.value, answer.ok, answer.kind) == ("a\nb", True, None)
    assert answer.with_value("c").result == {"content": [{"type": "text", "text": "c"}]}


def test_structured_content_of_a_server_keeps_its_own_shape() -> None:
    answer = Answer({"content": [], "structuredContent": {"rows": [1]}})
    assert answer.value == {"rows": [1]}
    assert answer.with_value({"rows": []}).result["structuredContent"] == {"rows": []}
    assert answer.with_value("x").result["structuredContent"] == {"result": "x"}


def test_an_error_without_a_kind_is_the_tools_own() -> None:
    answer = Answer({"content": [{"type": "text", "text": "no"}], "isError": True})
    assert (answer.ok, answer.kind, answer.detail) == (False, "error", "no")


def test_an_unknown_fault_is_refused_with_the_names() -> None:
    with pytest.raises(ValueError, match="fault 'tool_timout': unknown; one of noop, tool_timeout"):
        make_fault("tool_timout", {}, lambda reference: None)


def test_actions_refuse_what_makes_no_sense() -> None:
    for make in (
        lambda: Fail("odd", "x"),
        lambda: Fail("error", "x", -1),
        lambda: Delay(-1),
        lambda: Delay(float("nan")),
    ):
        with pytest.raises(ValueError, match=r"\("):
            make()
    assert [repr(a) for a in (Nothing(), Delay(1), Replace(2), Fail("error", "d"))] == [
        *("Nothing()", "Delay(1)", "Replace(2)", "Fail('error', 'd', after_ms=0)"),
    ]
