"""Which faults meet which call, in which order, and what a custom factory may do."""

from __future__ import annotations

import random
from typing import Any

import pytest

from arci.faults.action import Delay, Fail, Nothing, Replace
from arci.faults.answer import Answer
from arci.faults.call import Call
from arci.faults.plan import Encounter, FaultBroken, FaultPlan

SEED = 12007


def spec(name: str, tool: str | None = "get", kind: str = "nth", n: int = 0, **more: Any) -> dict[str, Any]:
    return {"name": name, "tool": tool, "occurrence": {"kind": kind, "n": n}, "probability": 1.0, "params": {}, **more}


def no_load(reference: str) -> Any:
    raise AssertionError(f"nothing is to be loaded, {reference} neither")


def meet(specs: list[dict[str, Any]], occurrence: int = 0, tool: str = "get", load: Any = no_load) -> Encounter:
    return FaultPlan(specs, SEED, load).meet(Call(tool, {}, occurrence, occurrence))


def met(specs: list[dict[str, Any]], tool: str = "get", calls: int = 5) -> list[int]:
    """The occurrences at which something was injected."""
    plan, found = FaultPlan(specs, SEED, no_load), []
    for occurrence in range(calls):
        encounter = plan.meet(Call(tool, {}, occurrence, occurrence))
        encounter.before()
        if encounter.injected:
            found.append(occurrence)
    return found


class Custom:
    """A custom fault that does what it is told."""

    def __init__(self, before: Any = None, after: Any = None) -> None:
        self.actions = {"before": before, "after": after}
        self.draws: list[float] = []

    def _act(self, hook: str, rng: random.Random) -> Any:
        self.draws.append(rng.random())
        action = self.actions[hook]
        return action() if callable(action) else action

    def before(self, call: Call, rng: random.Random) -> Any:
        return self._act("before", rng)

    def after(self, call: Call, answer: Answer, rng: random.Random) -> Any:
        return self._act("after", rng)


def custom(fault: Any) -> Any:
    return lambda reference: lambda params: fault


def test_an_occurrence_is_exact_from_or_every() -> None:
    assert met([spec("noop", n=2)]) == [2]
    assert met([spec("noop", kind="from", n=3)]) == [3, 4]
    assert met([spec("noop", kind="every")]) == [0, 1, 2, 3, 4]


def test_a_fault_meets_its_tool_or_every_tool() -> None:
    assert met([spec("noop")], tool="put") == []
    assert met([spec("noop", tool=None)], tool="put") == [0]


def test_a_chance_is_drawn_from_seed_fault_tool_and_occurrence_alone() -> None:
    found = met([spec("noop", kind="every", probability=0.5)], calls=200)
    expected = [n for n in range(200) if random.Random(f"{SEED}:fault:noop:get:{n}").random() < 0.5]
    assert found == expected
    assert 70 < len(found) < 130


def test_probability_zero_meets_nothing() -> None:
    assert met([spec("noop", kind="every", probability=0.0)]) == []


def test_the_first_failure_shadows_the_faults_behind_it() -> None:
    encounter = meet([spec("noop"), spec("tool_error_once"), spec("tool_timeout")])
    failure = encounter.before()
    assert failure is not None
    assert failure.kind == "error"
    assert (encounter.injected, encounter.injected_by) == ([("noop", 0), ("tool_error_once", 1)], "tool_error_once")


def test_answers_pass_through_the_faults_in_list_order() -> None:
    specs = [spec("empty_result"), spec("latency", params={"ms": 30}), spec("latency"), spec("malformed_result")]
    encounter = meet(specs)
    assert encounter.before() is None
    answer, delay_ms = encounter.after(Answer.of("text"))
    assert (answer.value, delay_ms) == ({"data": None}, 1030)
    assert [index for _, index in encounter.injected] == [0, 1, 2, 3]
    assert encounter.injected_by == "malformed_result"


def test_a_lost_answer_is_lost_for_the_faults_behind_it_and_as_late_as_those_before_it() -> None:
    encounter = meet([spec("latency", params={"ms": 30}), spec("lost_response"), spec("empty_result")])
    answer, delay_ms = encounter.after(Answer.of(1))
    assert (answer.kind, delay_ms, len(encounter.injected)) == ("timeout", 30, 2)


def test_a_call_that_no_fault_meets_is_untouched() -> None:
    answer = Answer.of(1)
    encounter = meet([spec("lost_response", n=4)])
    assert (encounter.before(), encounter.after(answer), encounter.injected_by) == (None, (answer, 0), None)


def test_a_placebo_is_counted_but_has_changed_nothing() -> None:
    encounter = meet([spec("noop")])
    encounter.before()
    assert (encounter.injected, encounter.injected_by) == ([("noop", 0)], None)


def test_a_custom_fault_is_made_with_its_params_and_gets_a_seeded_rng() -> None:
    fault, asked = Custom(after=Replace({"x": 1})), []

    def load(reference: str) -> Any:
        def make(params: Any) -> Any:
            asked.append((reference, params))
            return fault

        return make

    encounter = meet([spec("mine:make", params={"k": 1})], load=load)
    assert encounter.before() is None
    assert encounter.after(Answer.of(0))[0].value == {"x": 1}
    assert asked == [("mine:make", {"k": 1})]
    rng = random.Random(f"{SEED}:fault:mine:make:get:0")
    assert fault.draws == [rng.random(), rng.random()]


def test_both_hooks_of_a_fault_at_one_call_are_one_injection() -> None:
    encounter = meet([spec("m:f")], load=custom(Custom(before=Nothing(), after=Delay(1))))
    encounter.before()
    encounter.after(Answer.of(0))
    assert encounter.injected == [("m:f", 0)]


def test_a_custom_fault_may_answer_for_a_tool_that_failed() -> None:
    encounter = meet([spec("m:f")], load=custom(Custom(after=Replace(5))))
    assert encounter.after(Answer.failure("error", "no"))[0].value == 5


def test_a_custom_fault_without_a_hook_is_refused() -> None:
    with pytest.raises(ValueError, match="fault m:f: its dict has no method 'before'"):
        FaultPlan([spec("m:f")], SEED, custom({}))


def raising() -> Any:
    raise KeyError("k")


@pytest.mark.parametrize(
    ("hook", "action", "words"),
    [
        ("before", raising, "before.. raised KeyError"),
        ("before", Delay(1), "before.. returned Delay"),
        ("before", True, "before.. returned True"),
        ("after", raising, "after.. raised KeyError"),
        ("after", "text", "after.. returned 'text'"),
        ("after", lambda: Fail("odd", "x"), "after.. raised ValueError"),
        ("after", Replace({1, 2}), "a value that is not JSON"),
        ("after", Replace(float("nan")), "a value that is not JSON"),
    ],
)
def test_a_custom_fault_that_breaks_is_named(hook: str, action: Any, words: str) -> None:
    encounter = meet([spec("m:f")], load=custom(Custom(**{hook: action})))
    with pytest.raises(FaultBroken, match=f"fault m:f: .*{words}"):
        encounter.before() if hook == "before" else encounter.after(Answer.of(0))


def test_earlier_answers_are_kept_only_for_those_who_ask() -> None:
    assert not FaultPlan([spec("latency", tool=None)], SEED, no_load).wants_earlier("get")
    assert FaultPlan([spec("stale_result")], SEED, no_load).wants_earlier("get")
    assert not FaultPlan([spec("stale_result")], SEED, no_load).wants_earlier("put")
    assert FaultPlan([spec("m:f")], SEED, custom(Custom())).wants_earlier("get")
