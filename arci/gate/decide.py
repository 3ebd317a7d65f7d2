"""The gate: stored evidence -> decision. Pure and total: what it cannot use becomes ERROR with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from arci.gate.conditions import gating_conditions, judge_condition
from arci.gate.decision import ConditionDecision, Decision
from arci.gate.identity import check_records
from arci.gate.objections import Objection, of_store, told
from arci.gate.plan import Schedule, planned_trials, read_manifest
from arci.gate.result import Result
from arci.model.canonical import canonical, digest_bytes
from arci.model.manifest import Manifest
from arci.model.trial import ARMS, Outcome, Trial, Verdict
from arci.store.run import StoredRun
from arci.store.shards import shard_of

__all__ = ["decide"]


def decide(run: StoredRun, schedule: Schedule | None = None) -> Decision:
    """The decision over a run as it was read back. Never raises.

    `schedule`: manifest -> its planned trials; by default `arci.manifest.schedule.schedule`.
    """
    try:
        return _decide(run, schedule)
    except Exception as error:  # the last resort of a total function: a kind of damage that no check foresaw
        return _refused(run, (f"the evidence cannot be used: {type(error).__name__}: {error}",))


def _decide(run: StoredRun, schedule: Schedule | None) -> Decision:
    manifest, objections = read_manifest(run.manifest)
    objections += [of_store(problem) for problem in run.problems]
    if manifest is None:
        return _refused(run, told(objections))
    plan, unplanned = planned_trials(manifest, schedule)
    results, misfits = check_records(manifest, plan, run.records)
    objections += [*unplanned, *_without_other_parts(run, misfits), *_foreign_info(manifest, run)]
    interrupted, unknown = _interrupted(plan, run)
    objections += unknown
    holds = not objections
    by_condition = _grouped(manifest, results)
    conditions = tuple(
        judge_condition(manifest, condition, by_condition[condition.id], interrupted.get(condition.id, {}), holds)
        for condition in manifest.conditions
    )
    if manifest.on_error == "invalidate":
        objections += _errors(results)
    verdict, reasons = _verdict(conditions, told(objections), holds)
    return Decision(
        experiment_id=manifest.experiment_id,
        manifest_sha256=manifest.sha256,
        trials_sha256=_trials_sha256(run.records),
        verdict=verdict,
        reasons=reasons,
        alpha=manifest.alpha,
        delta=manifest.delta,
        interval_method=manifest.interval_method,
        k_conditions=gating_conditions(manifest),
        n_per_arm=manifest.n_per_arm,
        looks=manifest.looks,
        prior_runs=manifest.prior_runs,
        conditions=conditions,
    )


def _verdict(
    conditions: Sequence[ConditionDecision], objections: tuple[str, ...], holds: bool
) -> tuple[Verdict, tuple[str, ...]]:
    """Records that do not hold outrank a BLOCK; a BLOCK outranks a void PASS; that outranks INCONCLUSIVE."""
    if objections or not holds:
        return Verdict.ERROR, objections
    gating = [condition for condition in conditions if condition.is_gating]
    for verdict in (Verdict.BLOCK, Verdict.ERROR, Verdict.INCONCLUSIVE):
        said = [condition for condition in gating if condition.verdict is verdict]
        if said:
            return verdict, tuple(f"{c.condition_id}: {reason}" for c in said for reason in c.reasons)
    return Verdict.PASS, tuple(f"{c.condition_id}: {reason}" for c in gating for reason in c.reasons)


def _grouped(manifest: Manifest, results: Sequence[Result]) -> dict[str, dict[str, list[Result]]]:
    grouped: dict[str, dict[str, list[Result]]] = {c.id: {arm: [] for arm in ARMS} for c in manifest.conditions}
    for result in results:
        grouped[result.condition_id][result.arm].append(result)
    return grouped


def _errors(results: Sequence[Result]) -> list[Objection]:
    return [
        Objection("ERROR trials", f"ERROR ({r.ending}, blame: {r.blame}): {r.detail}", r.trial_id)
        for r in results
        if r.outcome is Outcome.ERROR
    ]


def _foreign_info(manifest: Manifest, run: StoredRun) -> list[Objection]:
    if run.info is None:
        return [] if run.problems else [Objection("damage in run.json", "run.json: there is none that can be read")]
    expected = {"experiment_id": manifest.experiment_id, "manifest_sha256": manifest.sha256}
    wrong = [name for name, value in expected.items() if run.info.get(name) != value]
    return [Objection("damage in run.json", f"run.json: its {name} is another manifest's") for name in wrong]


def _without_other_parts(run: StoredRun, misfits: list[Objection]) -> list[Objection]:
    """Of a shard: one objection, in the place of one for each trial that other shards hold."""
    shard = shard_of(run.info)
    if shard is None:
        return misfits
    alone = Objection("a shard", f"run.json: it is shard {shard}, and decides nothing alone: arci merge joins them all")
    return [alone, *(misfit for misfit in misfits if misfit.kind != "not recorded")]


def _interrupted(plan: Sequence[Trial], run: StoredRun) -> tuple[dict[str, Counter[str]], list[Objection]]:
    """Condition -> arm -> starts that led to no record."""
    planned = {trial.trial_id: trial for trial in plan}
    counts: dict[str, Counter[str]] = {}
    unknown = []
    for trial_id in run.interrupted:
        trial = planned.get(trial_id)
        if trial is None:
            unknown.append(Objection("not planned", "was started and was not planned", trial_id))
        else:
            counts.setdefault(trial.condition_id, Counter())[trial.arm] += 1
    return counts, unknown


def _trials_sha256(records: Sequence[Mapping[str, Any]]) -> str | None:
    try:
        return digest_bytes(b"".join(canonical(record) + b"\n" for record in records))
    except (TypeError, ValueError, RecursionError):
        return None


def _refused(run: StoredRun, reasons: tuple[str, ...]) -> Decision:
    """ERROR of a run whose manifest gives no rule to decide by."""
    document = run.manifest if isinstance(run.manifest, Mapping) else {}
    name, seal = document.get("experiment_id"), document.get("record_sha256")
    return Decision(
        experiment_id=name if isinstance(name, str) else "",
        manifest_sha256=seal if isinstance(seal, str) else None,
        trials_sha256=_trials_sha256(run.records),
        verdict=Verdict.ERROR,
        reasons=reasons,
    )
