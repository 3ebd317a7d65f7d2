"""Minimising a failure: what is found, in how many trials, and what the result may be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import pytest
from runs import condition, fault, manifest_document

from arci.diagnose.minimise import Minimised, Rules, minimise, minimised_document
from arci.diagnose.reduction import Reduction, each_field, each_parameter, fewer_faults, one_fault_less, reproducer
from arci.diagnose.rerun import RecordedTrial
from arci.diagnose.tally import Tally
from arci.errors import ArciError, UsageError
from arci.manifest.schedule import schedule
from arci.manifest.seal import load_manifest
from arci.model.canonical import canonical
from arci.model.manifest import FaultSpec, Manifest
from arci.model.record import trace_sha256
from arci.model.trial import Trial
from arci.run.result import TrialResult

pytestmark = pytest.mark.anyio

EVENTS: list[dict[str, Any]] = [
    {"kind": "trial_start"},
    {"kind": "tool_start", "tool": "reserve", "occurrence": 0, "arguments": {}},
]
FAIL = {"outcome": "FAIL", "ending": "completed", "blame": "agent", "fingerprint": "oracle|reserve"}
OTHER = {**FAIL, "fingerprint": "crash|exit 1"}
PASS = {"outcome": "PASS", "ending": "completed", "blame": None, "fingerprint": None}
BROKEN = {"outcome": "ERROR", "ending": "harness", "blame": "harness", "fingerprint": "harness|harness"}
NO_WORLD = {"outcome": "ERROR", "ending": "environment", "blame": "environment", "fingerprint": "environment"}

Answer = Callable[[Sequence[FaultSpec], Mapping[str, Any]], Mapping[str, Any]]


def numbered(count: int) -> list[dict[str, Any]]:
    """Faults that are told apart by their tools."""
    return [fault(tool=f"t{n}") for n in range(count)]


def recorded(faults: Sequence[Mapping[str, Any]], outcome: Mapping[str, Any] = FAIL, index: int = 3) -> RecordedTrial:
    conditions = [condition("clean", "clean"), condition("many", "falsify", *faults)]
    document = manifest_document(conditions=conditions, tasks=[{"id": "task", "task": {"a": 1, "b": {"c": [1, 2]}}}])
    manifest = Manifest.from_document(document)
    trial = next(t for t in schedule(manifest) if t.trial_id == f"many:{index:05d}:candidate")
    named = {"trial_id": trial.trial_id, "record_sha256": "0" * 64, "trace_sha256": trace_sha256(EVENTS)}
    return RecordedTrial(document, manifest, trial, {**named, **outcome})


class Trials:
    """Makes trials by a rule over faults and task, and keeps what was made."""

    def __init__(self, answer: Answer, events: Sequence[dict[str, Any]] = EVENTS) -> None:
        self.made: list[tuple[Manifest, Trial]] = []
        self._answer = answer
        self._events = list(events)

    async def __call__(self, manifest: Manifest, trial: Trial) -> TrialResult:
        self.made.append((manifest, trial))
        (only,) = manifest.conditions
        return TrialResult(trial, dict(self._answer(only.faults, trial.task)), self._events, {}, True)


def needs(*tools: str) -> Answer:
    return lambda faults, task: FAIL if set(tools) <= {f.tool for f in faults} else PASS


async def found(answer: Answer, count: int, rules: Rules | None = None, **changes: Any) -> tuple[Minimised, Trials]:
    trials = Trials(answer, **changes)
    return await minimise(recorded(numbered(count)), trials, rules or Rules()), trials


def tools(result: Minimised) -> list[str]:
    return [f["tool"] for f in result.after.faults]


@pytest.mark.parametrize("culprit", ["t0", "t1", "t2"])
async def test_three_faults_shrink_to_the_one_in_at_most_five_trials(culprit: str) -> None:
    result, trials = await found(needs(culprit), 3)
    assert (tools(result), result.kind) == ([culprit], "1-minimal")
    assert result.trials == len(trials.made) <= 5


@pytest.mark.parametrize("pair", [("t0", "t11"), ("t4", "t5"), ("t2", "t9")])
async def test_twelve_faults_shrink_to_the_two_that_are_needed(pair: tuple[str, str]) -> None:
    result, _ = await found(needs(*pair), 12)
    assert (tuple(tools(result)), result.kind) == (pair, "1-minimal")


async def test_a_failure_that_needs_no_fault_is_told_so() -> None:
    result, _ = await found(lambda faults, task: FAIL, 3)
    assert (tools(result), result.kind) == ([], "1-minimal")
    assert "without any fault" in result.reason


async def test_another_failure_is_not_the_failure() -> None:
    result, _ = await found(lambda faults, task: FAIL if len(faults) == 3 else OTHER, 3)
    assert (tools(result), result.kind) == (["t0", "t1", "t2"], "1-minimal")


async def test_every_candidate_is_a_trial_of_the_same_arm_with_the_same_seed_and_task() -> None:
    original = recorded(numbered(3))
    trials = Trials(needs("t1"))
    await minimise(original, trials, Rules())
    for manifest, trial in trials.made:
        assert (trial.seed, trial.arm, trial.task) == (original.trial.seed, "candidate", original.trial.task)
        assert manifest.images == original.manifest.images


async def test_a_trial_that_passed_cannot_be_minimised() -> None:
    with pytest.raises(UsageError, match="a FAIL can be minimised"):
        await minimise(recorded(numbered(1), PASS), Trials(needs()), Rules())


async def test_what_does_not_fail_again_cannot_be_minimised() -> None:
    with pytest.raises(ArciError, match="failed again in 0 of 3 trials"):
        await minimise(recorded(numbered(2)), Trials(lambda faults, task: PASS), Rules(3, 1))


async def test_a_removal_that_could_not_be_tried_is_no_evidence() -> None:
    result, _ = await found(lambda faults, task: FAIL if len(faults) == 2 else BROKEN, 2)
    assert (result.kind, len(result.after.faults)) == ("reduced", 2)


async def test_a_world_that_breaks_without_a_fault_has_lost_the_failure() -> None:
    result, _ = await found(lambda faults, task: FAIL if len(faults) == 1 else NO_WORLD, 1)
    assert result.kind == "1-minimal"


async def test_the_number_of_trials_is_bounded_and_then_nothing_is_claimed() -> None:
    result, trials = await found(needs("t0", "t11"), 12, Rules(most_trials=6))
    assert len(trials.made) == 6
    assert result.kind == "reduced"
    assert "--max-trials 6" in result.reason
    assert {"t0", "t11"} <= set(tools(result))


async def test_a_trial_that_takes_other_steps_needs_repetition_before_anything_is_called_minimal() -> None:
    steps = [*EVENTS, {"kind": "model_step", "summary": "something else", "facts": {}}]
    result, _ = await found(needs("t1"), 3, events=steps)
    assert (tools(result), result.kind) == (["t1"], "reduced")
    assert "--repeat" in result.reason
    result, _ = await found(needs("t1"), 3, Rules(3, 2), events=steps)
    assert result.kind == "1-minimal"


@pytest.mark.parametrize("seed", range(40))
async def test_a_flaky_agent_is_never_called_minimal_without_evidence(seed: int) -> None:
    """It fails in 7 of 10 trials while the fault it stumbles over is there; the draws are fixed by `seed`."""
    rng, seen = Random(seed), dict[tuple[str | None, ...], list[bool]]()

    def answer(faults: Sequence[FaultSpec], task: Mapping[str, Any]) -> Mapping[str, Any]:
        fails = any(f.tool == "t2" for f in faults) and rng.random() < 0.7
        seen.setdefault(tuple(f.tool for f in faults), []).append(fails)
        return FAIL if fails else PASS

    try:
        result, _ = await found(answer, 5, Rules(9, 3))
    except ArciError:
        assert sum(seen["t0", "t1", "t2", "t3", "t4"]) < 3
        return
    assert "t2" in tools(result)
    if result.kind == "1-minimal":
        left = tuple(tools(result))
        removals = [(*left[:i], *left[i + 1 :]) for i in range(len(left))]
        assert [(len(seen[removal]), any(seen[removal])) for removal in removals] == [(9, False)] * len(left)


async def test_a_flaky_agent_is_minimised_with_repetition() -> None:
    draws = [True, False, True, True, False, True, True, False, True, True]  # 7 of 10

    def answer(faults: Sequence[FaultSpec], task: Mapping[str, Any]) -> Mapping[str, Any]:
        draws.append(draws.pop(0))
        return FAIL if draws[-1] and any(f.tool == "t2" for f in faults) else PASS

    result, _ = await found(answer, 3, Rules(5, 2))
    assert (tools(result), result.kind) == (["t2"], "1-minimal")
    assert (result.tally.failed, result.tally.fails) == (2, True)


async def test_a_removal_that_fails_now_and_then_is_rarer_and_not_lost() -> None:
    counts: dict[int, int] = {}

    def answer(faults: Sequence[FaultSpec], task: Mapping[str, Any]) -> Mapping[str, Any]:
        counts[len(faults)] = counts.get(len(faults), 0) + 1
        return FAIL if len(faults) == 1 or counts[len(faults)] == 1 else PASS

    result, _ = await found(answer, 1, Rules(5, 3))
    assert (result.kind, len(result.after.faults)) == ("reduced", 1)
    assert "rarer, but not lost" in result.reason


async def test_fields_of_the_task_and_parameters_are_left_out_when_asked_for() -> None:
    faults = [fault(tool="t0", params={"after_ms": 5, "other": 1})]

    def answer(faults: Sequence[FaultSpec], task: Mapping[str, Any]) -> Mapping[str, Any]:
        if "b" not in task:
            return NO_WORLD
        return FAIL if faults and "after_ms" in faults[0].params else PASS

    result = await minimise(recorded(faults), Trials(answer), Rules(with_fields=True))
    assert result.after.task == {"b": {}}
    assert [f["params"] for f in result.after.faults] == [{"after_ms": 5}]
    assert result.kind == "1-minimal"
    plain = await minimise(recorded(faults), Trials(answer), Rules())
    assert plain.after.task == {"a": 1, "b": {"c": [1, 2]}}


async def test_the_reproducer_is_a_sealed_manifest_of_one_trial_per_arm(tmp_path: Any) -> None:
    result, _ = await found(needs("t1"), 3)
    path = tmp_path / "reproducer.json"
    path.write_bytes(canonical(result.document))
    document = load_manifest(path)
    manifest = Manifest.from_document(document)
    assert [t.trial_id for t in schedule(manifest) if t.arm == "candidate"] == [result.trial_id]
    assert [f.tool for f in manifest.conditions[0].faults] == ["t1"]
    assert manifest.experiment_id == "synthetic-many-00003-candidate"
    about = document["volatile"]["reproduces"]
    assert (about["trial_id"], about["arm"], about["result"]) == ("many:00003:candidate", "candidate", "1-minimal")
    assert minimised_document(result)["manifest_sha256"] == document["record_sha256"]


@pytest.mark.parametrize("rules", [(3, 0, 500), (3, 4, 500), (3, 2, 2)])
def test_rules_that_cannot_be_kept_are_refused(rules: tuple[int, int, int]) -> None:
    with pytest.raises(UsageError):
        Rules(*rules)


def tallied(repeat: int, at_least: int, *failed: bool | None) -> Tally:
    tally = Tally(repeat, at_least)
    for each in failed:
        tally.add(each)
    return tally


def test_a_tally_is_settled_early_only_once_something_failed() -> None:
    assert not tallied(5, 3, False, False, False).is_settled
    settled = tallied(5, 3, False, False, False, True)
    assert (settled.is_settled, settled.is_lost) == (True, False)
    broken = tallied(2, 1, False, None)
    assert (broken.is_settled, broken.is_lost) == (True, False)
    assert tallied(2, 1, False, False).is_lost


def test_each_pass_proposes_one_thing_less() -> None:
    value = Reduction((fault(tool="a"), fault(tool="b", params={"x": 1, "y": 2})), {"k": {"l": [1, 2]}, "m": 1})
    assert [v.task for v in each_field(value)] == [
        {"m": 1},
        {"k": {"l": [1, 2]}},
        {"k": {}, "m": 1},
        {"k": {"l": [2]}, "m": 1},
        {"k": {"l": [1]}, "m": 1},
    ]
    assert [[f["params"] for f in v.faults] for v in each_parameter(value)] == [[{}, {"y": 2}], [{}, {"x": 1}]]
    assert [[f["tool"] for f in v.faults] for v in one_fault_less(value)] == [["b"], ["a"]]
    assert all(len(v.faults) < 2 for v in fewer_faults(value))


def test_a_reproducer_of_ceiling_faults_still_runs() -> None:
    original = recorded([fault(bucket="ceiling")])
    document, manifest, trial = reproducer(original.document, original.trial, Reduction((fault(bucket="ceiling"),), {}))
    assert document["conditions"][0]["is_gating"] is True
    assert (trial.seed, manifest.n_per_arm) == (original.trial.seed, 1)
