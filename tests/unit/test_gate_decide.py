"""Verdicts of whole runs, from stores with chosen outcomes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runs import Parts, condition, edit_records, evidence, fault, make_run, trial_parts

from arci.gate.decide import decide
from arci.gate.decision import Decision, decision_bytes
from arci.gate.void import is_shadowed
from arci.model.manifest import FaultSpec, Occurrence
from arci.model.trial import Trial, Verdict
from arci.store.reader import read_run
from arci.store.run import StoredRun


def gate(baseline: str, candidate: str, **options: Any) -> Decision:
    return decide(evidence(outcomes={"baseline": baseline, "candidate": candidate}, **options))


def mix(n: int, failures: int) -> str:
    return "P" * (n - failures) + "F" * failures


def calm(trial: Trial, letter: str) -> Parts:
    """A trial in which no fault was injected."""
    return trial_parts(trial, letter, injections=[])


@pytest.mark.parametrize(
    ("baseline", "candidate", "verdict", "exit_code"),
    [
        ((200, 8), (200, 68), Verdict.BLOCK, 1),
        ((200, 8), (200, 8), Verdict.PASS, 0),
        ((200, 170), (200, 0), Verdict.PASS, 0),
        ((50, 0), (50, 12), Verdict.INCONCLUSIVE, 2),
        ((41, 0), (41, 0), Verdict.INCONCLUSIVE, 2),
        ((42, 0), (42, 0), Verdict.PASS, 0),
        ((8, 0), (8, 8), Verdict.BLOCK, 1),
        ((7, 0), (7, 7), Verdict.INCONCLUSIVE, 2),
        ((200, 200), (200, 200), Verdict.ERROR, 3),
    ],
)
def test_known_experiments_end_with_their_verdict(
    baseline: tuple[int, int], candidate: tuple[int, int], verdict: Verdict, exit_code: int
) -> None:
    decision = gate(mix(*baseline), mix(*candidate))
    assert (decision.verdict, decision.to_document()["exit_code"]) == (verdict, exit_code)


def test_the_retry_experiment_has_its_counts_and_bounds() -> None:
    [c] = gate(mix(200, 8), mix(200, 68)).conditions
    assert (c.baseline.successes, c.baseline.n, c.candidate.successes, c.candidate.n) == (192, 200, 132, 200)
    assert c.delta_low is not None
    assert c.delta_high is not None
    assert (round(c.delta_low, 4), round(c.delta_high, 4)) == (-0.4048, -0.1829)
    assert c.reasons[0] == (
        "candidate minus baseline is within [-0.4048, -0.1829], all of it below -0.1000: the drop is larger than 0.1"
    )


def test_two_arms_that_always_fail_are_a_void_pass_and_say_why() -> None:
    decision = gate("F" * 200, "F" * 200)
    assert decision.verdict is Verdict.ERROR
    assert "void PASS: the baseline passed 0 of 200" in decision.reasons[0]


def test_a_fault_that_no_trial_met_is_an_error_told_per_arm() -> None:
    decision = gate("P" * 200, "P" * 200, parts=calm)
    assert decision.verdict is Verdict.ERROR
    assert decision.reasons[0] == (
        "reserve-timeout: tool_timeout on reserve, call 0: no injection (baseline: injected in 0 of 200 "
        "trials, candidate: injected in 0 of 200 trials)"
    )
    assert decision.conditions[0].injections == {"baseline": 0, "candidate": 0}


def test_a_fault_that_no_trial_met_is_an_error_with_few_trials_too() -> None:
    assert gate("PP", "PP", parts=calm).verdict is Verdict.ERROR


def test_a_block_outranks_a_fault_that_no_trial_met() -> None:
    assert gate("P" * 40, "F" * 40, parts=calm).verdict is Verdict.BLOCK


@pytest.mark.parametrize(("wanted", "verdict"), [(0, "PASS"), (2, "PASS"), (84, "PASS"), (85, "ERROR")])
def test_injections_of_both_arms_count_towards_the_minimum(wanted: int, verdict: str) -> None:
    conditions = [condition("c", "falsify", fault(min_injections=wanted))]
    assert gate("P" * 42, "P" * 42, conditions=conditions).verdict == verdict


def test_a_fault_shadowed_by_an_injected_one_is_exempt() -> None:
    faults = fault(), fault("latency")
    assert gate("P" * 42, "P" * 42, conditions=[condition("c", "falsify", *faults)]).verdict is Verdict.PASS


def test_a_fault_shadowed_by_one_that_was_never_injected_is_not_exempt() -> None:
    faults = fault(min_injections=0), fault("latency")
    decision = gate("P" * 42, "P" * 42, conditions=[condition("c", "falsify", *faults)], parts=calm)
    assert decision.verdict is Verdict.ERROR
    assert "latency on reserve" in decision.reasons[0]


def spec(
    kind: str, n: int = 0, tool: str | None = "reserve", probability: float = 1.0, name: str = "latency"
) -> FaultSpec:
    return FaultSpec(name, "falsify", tool, Occurrence(kind, n), probability, 1, {})


@pytest.mark.parametrize(
    ("before", "last", "shadowed"),
    [
        ([], spec("nth", 0), False),
        ([spec("nth", 0)], spec("nth", 0), True),
        ([spec("nth", 1)], spec("nth", 0), False),
        ([spec("every")], spec("from", 3), True),
        ([spec("from", 3)], spec("nth", 3), True),
        ([spec("from", 4)], spec("nth", 3), False),
        ([spec("from", 1)], spec("every"), False),
        ([spec("nth", 0), spec("from", 1)], spec("every"), True),
        ([spec("nth", 0), spec("nth", 1)], spec("every"), False),
        ([spec("nth", 0), spec("from", 10**12)], spec("every"), False),
        ([spec("every", tool="other")], spec("nth", 0), False),
        ([spec("every", tool=None)], spec("nth", 0), True),
        ([spec("every")], spec("nth", 0, tool=None), False),
        ([spec("every", probability=0.99)], spec("nth", 0), False),
        ([spec("every", tool=None)], spec("nth", 0, tool=None, name="model_error"), False),
        ([spec("every", tool=None, name="model_slow")], spec("nth", 0, tool="model:gpt", name="model_error"), True),
        ([spec("every", tool=None, name="model_slow")], spec("nth", 0, tool=None, name="decision_unavailable"), False),
    ],
)
def test_a_fault_is_shadowed_if_every_call_it_could_meet_is_met_before(
    before: list[FaultSpec], last: FaultSpec, shadowed: bool
) -> None:
    assert is_shadowed([*before, last], len(before)) is shadowed


def test_error_trials_invalidate_and_are_named() -> None:
    decision = gate("P" * 200, "P" * 199 + "E")
    assert decision.verdict is Verdict.ERROR
    assert decision.reasons == (
        "trial reserve-timeout:00199:candidate: ERROR (harness, blame: harness): the recorder sent an invalid frame",
    )
    assert decision.conditions[0].verdict is Verdict.ERROR
    assert decision.conditions[0].candidate.errors == 1


def test_error_trials_never_block() -> None:  # N80: 6 of 20 broken by us in the candidate alone
    for rule in ("invalidate", "worst_case"):
        decision = gate("P" * 20, "P" * 14 + "E" * 6, on_error=rule)
        assert decision.verdict is {"invalidate": Verdict.ERROR, "worst_case": Verdict.INCONCLUSIVE}[rule]


def test_one_lucky_trial_among_broken_ones_is_no_pass() -> None:  # N79
    for rule in ("invalidate", "worst_case"):
        decision = gate("P" + "E" * 9, "P" + "E" * 9, on_error=rule)
        assert decision.verdict is not Verdict.PASS
        assert decision.conditions[0].baseline.rate == 0.1


@pytest.mark.parametrize(
    ("baseline", "candidate", "verdict"),
    [
        # as failures of the candidate these would be 192 against 132; as successes, 192 against 200
        (mix(200, 8), "P" * 132 + "E" * 68, Verdict.INCONCLUSIVE),
        # as successes of the candidate the worst is 192 against 140, which still blocks
        (mix(200, 8), "P" * 132 + "E" * 8 + "F" * 60, Verdict.BLOCK),
        # 192 to 194 against 190 to 192: passes even if every one is taken against it
        (mix(198, 6) + "EE", mix(198, 8) + "EE", Verdict.PASS),
        ("E" * 200, "F" * 200, Verdict.INCONCLUSIVE),
        ("F" * 200, "E" * 200, Verdict.ERROR),  # a void PASS: none of either against none
    ],
)
def test_worst_case_counts_error_trials_against_each_verdict(baseline: str, candidate: str, verdict: Verdict) -> None:
    assert gate(baseline, candidate, on_error="worst_case").verdict is verdict


def test_two_gating_conditions_share_alpha_and_a_ceiling_takes_none() -> None:
    conditions = [
        condition("a", "falsify", fault()),
        condition("b", "falsify", fault()),
        condition("c", "ceiling", fault()),
    ]
    decision = gate("P" * 45, "P" * 45, conditions=conditions)
    assert decision.k_conditions == 2
    assert decision.verdict is Verdict.INCONCLUSIVE  # 45 would do for one
    a, _, ceiling = decision.conditions
    assert ceiling.verdict is None
    assert ceiling.is_gating is False
    assert ceiling.delta_low == a.delta_low


def test_a_ceiling_condition_never_decides() -> None:
    conditions = [condition("a", "falsify", fault()), condition("c", "ceiling", fault())]

    def parts(trial: Trial, letter: str) -> Parts:
        lost = trial.condition_id == "c" and trial.arm == "candidate"
        return trial_parts(trial, "F" if lost else letter)

    assert gate("P" * 60, "P" * 60, conditions=conditions, parts=parts).verdict is Verdict.PASS


def test_one_blocking_condition_blocks_whatever_the_others_say() -> None:
    conditions = [condition("a", "falsify", fault()), condition("b", "falsify", fault(min_injections=999))]

    def parts(trial: Trial, letter: str) -> Parts:
        return trial_parts(trial, "F" if trial.condition_id == "a" and trial.arm == "candidate" else letter)

    decision = gate("P" * 60, "P" * 60, conditions=conditions, parts=parts)
    assert decision.verdict is Verdict.BLOCK
    assert [c.verdict for c in decision.conditions] == [Verdict.BLOCK, Verdict.ERROR]
    assert all(reason.startswith("a: ") for reason in decision.reasons)


CONTRACT: dict[str, Any] = {
    "max_tool_calls": None,
    "forbidden_tools": ["drop"],
    "required_tools": ["confirm"],
    "max_calls_per_tool": {},
    "hard": ["forbidden_tools", "required_tools"],
}


def breaking(who: dict[str, set[int]], contract: dict[str, Any]) -> Callable[[Trial, str], Parts]:
    def parts(trial: Trial, letter: str) -> Parts:
        if trial.index in who.get(trial.arm, ()):
            return trial_parts(
                trial, "F", contract={"success": None, "violations": [], "required_missing": [], **contract}
            )
        return trial_parts(trial, letter)

    return parts


@pytest.mark.parametrize(
    ("name", "contract"),
    [
        ("forbidden_tools", {"violations": [{"invariant": "forbidden_tools", "tool": "drop", "detail": ""}]}),
        ("required_tools", {"required_missing": ["confirm"]}),
    ],
)
def test_a_hard_violation_of_the_candidate_alone_blocks_outside_alpha(name: str, contract: dict[str, Any]) -> None:
    alone = gate("P" * 200, "P" * 200, contract=CONTRACT, parts=breaking({"candidate": {7}}, contract))
    assert alone.verdict is Verdict.BLOCK
    assert f"hard rule {name}: violated by the candidate in 1 trials" in alone.reasons[0]
    assert "outside alpha" in alone.reasons[0]
    assert alone.conditions[0].hard_violations == {"baseline": {}, "candidate": {name: 1}}
    both = {"candidate": {7}, "baseline": {9}}
    assert gate("P" * 200, "P" * 200, contract=CONTRACT, parts=breaking(both, contract)).verdict == "PASS"
    soft = {**CONTRACT, "hard": []}
    parts = breaking({"candidate": {7}}, contract)
    assert gate("P" * 200, "P" * 200, contract=soft, parts=parts).verdict is Verdict.PASS


def test_identical_traces_are_counted_and_warned_of() -> None:
    def parts(trial: Trial, letter: str) -> Parts:
        record, events, logs = trial_parts(trial, letter)
        if trial.arm == "candidate":
            events[1]["arguments"] = {}
        return record, events, logs

    [c] = gate("P" * 42, "P" * 42, parts=parts).conditions
    assert c.distinct_traces == {"baseline": 42, "candidate": 1}
    assert c.reasons[1:] == (
        "warning: every trial of the candidate gave the same trace: its 42 trials carry the information of one",
    )


def test_the_document_has_exactly_the_declared_keys() -> None:
    document = gate("P" * 42, "P" * 42, prior_runs=[{"store": "x.1", "rate": 1 / 3}]).to_document()
    assert sorted(document) == sorted(
        [
            "format",
            "experiment_id",
            "manifest_sha256",
            "trials_sha256",
            "verdict",
            "exit_code",
            "reasons",
            "alpha",
            "delta",
            "interval_method",
            "k_conditions",
            "n_per_arm",
            "looks",
            "stopped_at_look",
            "history",
            "prior_runs",
            "conditions",
        ]
    )
    [c] = document["conditions"]
    assert sorted(c) == sorted(
        [
            "condition_id",
            "is_gating",
            "verdict",
            "reasons",
            "delta_low",
            "delta_high",
            "injections",
            "interrupted",
            "distinct_traces",
            "hard_violations",
            "baseline",
            "candidate",
        ]
    )
    for arm in ("baseline", "candidate"):
        assert sorted(c[arm]) == sorted(
            ["n", "successes", "errors", "rate", "low", "high", "wilson_low", "wilson_high"]
        )
    assert document["prior_runs"] == [{"store": "x.1", "rate": 1 / 3}]


def test_the_decision_is_derived_again_byte_for_byte(tmp_path: Path) -> None:
    store = make_run(tmp_path, outcomes={"baseline": mix(20, 1), "candidate": mix(20, 9)})
    data = decision_bytes(decide(read_run(store)))
    assert data == decision_bytes(decide(read_run(store)))
    assert data.endswith(b"\n")
    assert json.loads(data)["verdict"] == "INCONCLUSIVE"

    assert json.loads(data)["trials_sha256"] == hashlib.sha256((store / "trials.jsonl").read_bytes()).hexdigest()


def test_the_state_of_the_writer_does_not_change_the_decision(tmp_path: Path) -> None:
    running = make_run(tmp_path / "1", finish=False)
    complete = make_run(tmp_path / "2")
    assert decision_bytes(decide(read_run(running))) == decision_bytes(decide(read_run(complete)))


def test_the_schedule_may_be_given(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path))
    assert decide(run, lambda manifest: ()).verdict is Verdict.ERROR


def test_an_empty_run_is_an_error() -> None:
    decision = decide(StoredRun(None, (), None))
    assert decision.verdict is Verdict.ERROR
    assert decision.reasons == ("manifest.json: there is none that can be read",)
    assert decision_bytes(decision)


def test_a_result_is_only_a_success_if_its_own_record_says_why(tmp_path: Path) -> None:
    changes: tuple[dict[str, Any], ...] = (
        {"contract": {"success": False, "violations": [], "required_missing": []}},
        {"contract": {"success": None, "violations": [], "required_missing": []}},
        {"contract": {"success": True, "violations": [], "required_missing": ["x"]}},
        {"ending": "timeout"},
        {"blame": "agent"},
    )
    for number, change in enumerate(changes):
        store = make_run(tmp_path / str(number))

        def edit(record: dict[str, Any], change: dict[str, Any] = change) -> None:
            record.update(change)

        edit_records(store, edit)
        decision = decide(read_run(store))
        assert decision.verdict is Verdict.ERROR
        assert "outcome PASS does not follow" in decision.reasons[0]
