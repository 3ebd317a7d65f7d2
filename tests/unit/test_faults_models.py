"""Faults of models and decisions: their settings, their one decision, and which calls they meet."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arci.faults.call import Call
from arci.faults.decision_low_confidence import capped
from arci.faults.kinds import NAMES, kind, target_of
from arci.faults.plan import FaultPlan
from arci.faults.registry import BUILTIN
from arci.faults.settings import DECISION, MODEL, TOOL

CALL = Call("model:openai", {"model": "m"}, 0, 0)


def no_load(reference: str) -> Any:
    raise AssertionError(reference)


def plan(*names: str, tool: str | None = None, occurrence: Any = None, probability: float = 1.0) -> FaultPlan:
    specs = [
        {"name": n, "tool": tool, "occurrence": occurrence, "probability": probability, "params": {}} for n in names
    ]
    return FaultPlan(specs, 7, no_load)


def met(faults: FaultPlan, occurrence: int, tool: str = "model:openai", target: str = MODEL) -> list[str]:
    return [fault.name for fault in faults.met(Call(tool, {}, occurrence, occurrence), target)]


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("model_timeout", "Stall(600000)"),
        ("model_rate_limited", "Refuse(429, 1)"),
        ("model_error", "Refuse(500, None)"),
        ("model_overloaded", "Refuse(529, None)"),
        ("model_truncated_stream", "Truncate(None)"),
        ("model_slow", "Postpone(5000)"),
        ("model_malformed", "Malform()"),
        ("model_empty", "Empty()"),
    ],
)
def test_each_model_fault_has_one_action(name: str, action: str) -> None:
    assert BUILTIN[name].target == MODEL
    assert repr(BUILTIN[name].make({}).meet(CALL, None)) == action


@pytest.mark.parametrize(
    ("name", "params", "allowed"),
    [
        ("model_rate_limited", {"retry_after_s": 3601}, "seconds from 0 to 3600"),
        ("model_rate_limited", {"retry_after_s": True}, "seconds from 0 to 3600"),
        ("model_truncated_stream", {"keep_chunks": -1}, "whole number from 0 to 1000000"),
        ("model_truncated_stream", {"keep_chunks": 1.5}, "whole number from 0 to 1000000"),
        ("model_timeout", {"after_ms": -1}, "milliseconds"),
        ("model_slow", {"ms": "1"}, "milliseconds"),
        ("decision_low_confidence", {"confidence_max": 1.1}, "a number from 0 to 1"),
        ("decision_low_confidence", {"confidence_max": float("nan")}, "a number from 0 to 1"),
        ("model_error", {"status": 1}, "no params"),
    ],
)
def test_a_wrong_param_is_named_with_what_is_allowed(name: str, params: dict[str, Any], allowed: str) -> None:
    (problem,) = BUILTIN[name](params)
    assert allowed in problem


def test_half_of_a_stream_may_be_asked_for_by_name() -> None:
    assert BUILTIN["model_truncated_stream"]({"keep_chunks": None}) == []
    assert BUILTIN["model_truncated_stream"]({"keep_chunks": 0}) == []


def test_the_target_is_told_by_the_name_and_a_custom_fault_disturbs_tools() -> None:
    assert {target_of(name) for name in NAMES if name.startswith("model_")} == {MODEL}
    assert {target_of(name) for name in NAMES if name.startswith("decision_")} == {DECISION}
    assert (target_of("latency"), target_of("mine:make")) == (TOOL, TOOL)
    assert all(kind(name).name == name for name in NAMES)


def test_faults_meet_calls_of_their_target_alone() -> None:
    faults = plan("tool_timeout", "model_error", "decision_unavailable", "model_slow", occurrence={"kind": "every"})
    assert met(faults, 3) == ["model_error", "model_slow"]
    assert met(faults, 3, "decision:systemone", DECISION) == ["decision_unavailable"]
    assert faults.meet(Call("get", {}, 0, 0)).before() is not None
    assert plan("model_error").meet(Call("get", {}, 0, 0)).before() is None
    assert not plan("model_error", "decision_unavailable").wants_earlier("get")


def test_the_occurrence_counts_for_models_as_for_tools() -> None:
    for kind_of, wanted in (("nth", [False, True, False]), ("from", [False, True, True])):
        faults = plan("model_error", occurrence={"kind": kind_of, "n": 1})
        assert [bool(met(faults, n)) for n in range(3)] == wanted
    assert met(plan("model_error", tool="model:other"), 0) == []


def test_what_lasts_goes_on_from_its_occurrence() -> None:
    faults = plan("decision_unavailable", occurrence={"kind": "nth", "n": 1})
    assert [bool(met(faults, n, "decision:systemone", DECISION)) for n in range(4)] == [False, True, True, True]


def test_chances_are_drawn_from_the_trials_seed() -> None:
    drawn = [met(plan("model_error", occurrence={"kind": "every"}, probability=0.5), n) for n in range(64)]
    assert drawn == [met(plan("model_error", occurrence={"kind": "every"}, probability=0.5), n) for n in range(64)]
    assert 16 < sum(map(len, drawn)) < 48


@given(
    weights=st.lists(st.integers(0, 1000), min_size=2, max_size=8).filter(any),
    cap=st.floats(0, 1),
)
def test_a_capped_choice_has_the_concentration_of_the_cap_and_the_same_order(weights: list[int], cap: float) -> None:
    probabilities = {str(n): w / sum(weights) for n, w in enumerate(weights)}
    n = len(weights)
    concentration = (n * max(probabilities.values()) - 1) / (n - 1)
    answer = {"type": "choice", "choice": "0", "probabilities": probabilities, "confidence": 1.0}
    found = capped(answer, cap)
    if concentration <= cap:
        assert found is None
        return
    assume(cap > 1e-6)
    assert found is not None
    mixed = found["probabilities"]
    assert sum(mixed.values()) == pytest.approx(1)
    assert (n * max(mixed.values()) - 1) / (n - 1) == pytest.approx(cap)
    assert max(mixed, key=mixed.__getitem__) == max(probabilities, key=probabilities.__getitem__)
    assert (found["choice"], found["confidence"]) == ("0", cap)


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "noul", "noul": 1.0},
        {"type": "score", "score": 1.0, "probabilities": {"0": 0.0, "1": 1.0}},
        {"type": "choice", "choice": "a", "probabilities": {"a": 1.0}},
    ],
)
def test_what_is_no_choice_of_two_or_more_is_left_alone(answer: dict[str, Any]) -> None:
    assert capped(answer, 0.0) is None
