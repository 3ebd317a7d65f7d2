"""Where two traces part, and groups of failures."""

from __future__ import annotations

from typing import Any

from arci.diagnose.diff import compare, divergence_document
from arci.diagnose.groups import failure_groups
from arci.gate.decision import ArmResult, ConditionDecision, Decision
from arci.model.trial import Verdict


def _call(tool: str, occurrence: int = 0, ok: bool = True, by: str | None = None) -> list[dict[str, Any]]:
    start = {"kind": "tool_start", "tool": tool, "occurrence": occurrence, "arguments": {}, "call_id": 9, "at_s": 0.1}
    finish = {"kind": "tool_finish", "tool": tool, "occurrence": occurrence, "ok": ok, "value": 1, "error_kind": None}
    return [start, {**finish, "injected_by": by, "at_s": 0.2}]


_INJECTION = {"kind": "injection", "fault": "tool_timeout", "tool": "reserve", "occurrence": 0, "at_s": 0.1}
_END = {"kind": "trial_end", "ending": "completed", "at_s": 1.0}


def test_times_and_identity_are_no_difference() -> None:
    a = [*_call("get"), _END]
    b = [{**event, "at_s": 7.0, "trial_id": "other", "sha256": "x"} for event in a]
    found = compare("a", a, "b", b)
    assert found.is_same
    assert divergence_document(found)["index"] is None


def test_the_first_difference_and_the_last_injection_before_it() -> None:
    common = [*_call("get"), _INJECTION, *_call("reserve", ok=False, by="tool_timeout")]
    found = compare("a", [*common, *_call("reserve", 1), _END], "b", [*common, *_call("confirm"), _END], context=2)
    assert found.index == 5
    assert found.first == 3
    assert found.a.step is not None
    assert found.a.step["tool"] == "reserve"
    assert found.b.step is not None
    assert found.b.step["tool"] == "confirm"
    assert found.a.last_injection == found.b.last_injection
    assert found.a.last_injection is not None
    assert found.a.last_injection["fault"] == "tool_timeout"
    assert [step["kind"] for step in found.a.steps] == [
        "tool_start",
        "tool_finish",
        "tool_start",
        "tool_finish",
        "trial_end",
    ]


def test_an_injection_behind_the_difference_is_not_named() -> None:
    found = compare("a", [*_call("get"), _INJECTION], "b", [*_call("other"), _INJECTION])
    assert found.index == 0
    assert found.a.last_injection is None


def test_a_trace_that_ends_early_differs_where_it_ends() -> None:
    found = compare("a", _call("get"), "b", [*_call("get"), *_call("put")])
    assert found.index == 2
    assert found.a.step is None
    assert found.b.step is not None
    assert found.b.step["tool"] == "put"


def test_all_steps_can_be_asked_for() -> None:
    long = [event for number in range(20) for event in _call("get", number)]
    found = compare("a", long, "b", [*long, _END], context=None)
    assert (found.first, len(found.a.steps), len(found.b.steps)) == (0, 40, 41)


def test_two_empty_traces_are_the_same() -> None:
    assert compare("a", [], "b", []).is_same


def _record(
    index: int, arm: str, outcome: str = "FAIL", fingerprint: str | None = "oracle|reserve", condition: str = "c"
) -> dict[str, Any]:
    pair = f"{condition}:{index:05d}"
    return {
        "trial_id": f"{pair}:{arm}",
        "pair_id": pair,
        "arm": arm,
        "condition_id": condition,
        "outcome": outcome,
        "ending": "completed" if outcome != "ERROR" else "harness",
        "blame": {"FAIL": "agent", "ERROR": "harness"}.get(outcome),
        "fingerprint": fingerprint if outcome == "FAIL" else None,
        "detail": "d",
    }


def decided_on(*blocked: str, verdict: Verdict = Verdict.BLOCK, ungated: str = "hopeless") -> Decision:
    """A decision whose verdict comes from the conditions `blocked`; `ungated` does not gate."""
    arm = ArmResult(1, 0, 0, 0.0, 0.0, 1.0, 0.0, 1.0)
    none: dict[str, Any] = {key: {} for key in ("injections", "interrupted", "distinct_traces", "hard_violations")}
    conditions = [
        ConditionDecision(c, said is not None, said, (), None, None, **none, baseline=arm, candidate=arm)
        for c, said in [*((c, verdict) for c in blocked), ("fine", Verdict.PASS), (ungated, None)]
    ]
    return Decision("x", None, None, verdict, (), conditions=tuple(conditions))


def test_what_explains_a_block_comes_before_more_failures_of_a_condition_that_does_not_gate() -> None:
    records = [
        *(_record(n, "candidate", fingerprint="loud", condition="hopeless") for n in range(9)),
        *(_record(n, "candidate", fingerprint="also loud", condition="fine") for n in range(5)),
        *(_record(n, "candidate", fingerprint="telling", condition="c") for n in (20, 21)),
        _record(0, "candidate", fingerprint="telling", condition="hopeless"),
        *(_record(n, "baseline", fingerprint="less so", condition="c") for n in (30, 31, 32)),
        *(_record(n, "candidate", fingerprint="less so", condition="c") for n in (30, 31, 32, 33)),
    ]
    groups = failure_groups(records, decided_on("c"))
    assert [group.fingerprint for group in groups] == ["telling", "less so", "loud", "also loud"]
    assert [group.explains for group in groups] == [True, True, False, False]
    assert (groups[0].counts["candidate"], groups[0].deciding) == (3, {"baseline": 0, "candidate": 2})
    assert groups[0].representative == "c:00020:candidate"


def test_what_broke_explains_an_invalid_run() -> None:
    records = [
        *(_record(n, "candidate") for n in range(3)),
        _record(4, "baseline", "ERROR"),
    ]
    broken, failed = failure_groups(records, decided_on("c", verdict=Verdict.ERROR))
    assert (broken.outcome, broken.explains, failed.outcome) == ("ERROR", True, "FAIL")
    assert [g.outcome for g in failure_groups(records, decided_on("c"))] == ["FAIL", "ERROR"]


def test_without_conditions_to_decide_on_the_largest_group_comes_first() -> None:
    records = [_record(0, "candidate", fingerprint="a"), *(_record(n, "baseline", fingerprint="b") for n in (1, 2))]
    groups = failure_groups(records, Decision("x", None, None, Verdict.ERROR, ()))
    assert [(group.fingerprint, group.explains) for group in groups] == [("b", False), ("a", False)]


def test_what_the_candidate_does_more_often_comes_first_with_a_passing_partner() -> None:
    records = [
        _record(0, "baseline", fingerprint="crash|x"),
        _record(0, "candidate", fingerprint="crash|x"),
        _record(1, "baseline"),
        _record(1, "candidate"),
        _record(2, "baseline", "PASS"),
        _record(2, "candidate"),
        _record(3, "candidate", "ERROR"),
    ]
    first, *others = failure_groups(records, decided_on("c"))
    assert (first.fingerprint, first.counts) == ("oracle|reserve", {"baseline": 1, "candidate": 2})
    assert first.representative == "c:00002:candidate"
    assert (first.partner, first.partner_outcome) == ("c:00002:baseline", "PASS")
    assert {group.outcome for group in others} == {"ERROR", "FAIL"}
    error = next(group for group in others if group.outcome == "ERROR")
    assert (error.fingerprint, error.partner) == ("harness|harness", None)


def test_a_run_without_failures_has_no_group() -> None:
    assert failure_groups([_record(0, arm, "PASS") for arm in ("baseline", "candidate")], decided_on("c")) == []
