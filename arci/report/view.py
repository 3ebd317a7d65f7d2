"""What a report shows, gathered from a decision and the records behind it. Pure; a damaged run has a report too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from arci.gate.decision import ArmResult, ConditionDecision, Decision
from arci.gate.flips import Flip, benign_flips
from arci.gate.plan import read_manifest
from arci.gate.result import Result, results_of
from arci.gate.void import describe_fault
from arci.model.manifest import Condition, Manifest
from arci.model.trial import ARMS, Outcome
from arci.report.usage import UpstreamUse, upstream_use
from arci.report.words import chronological, circumstances
from arci.store.run import StoredRun

__all__ = ["ArmView", "ConditionView", "FailureGroup", "FaultView", "ReportView", "TaskView", "build_view"]


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Trials of one arm that are not PASS and have the same fingerprint."""

    outcome: str
    fingerprint: str
    count: int
    example: str
    """Trial id of the first one in the order of the schedule's index."""
    detail: str
    """Of the example."""


@dataclass(frozen=True, slots=True)
class ArmView:
    """One arm under one condition."""

    name: str
    label: str
    result: ArmResult
    planned: int
    excluded: Mapping[str, int]
    """Blame -> ERROR trials."""
    interrupted: int
    distinct_traces: int
    failures: tuple[FailureGroup, ...]
    agent_seconds: tuple[float, float] | None
    """Median and longest."""
    use: UpstreamUse | None = None
    """Of models and decisions; None where there are none."""

    @property
    def valid(self) -> int:
        return self.result.n - self.result.errors


@dataclass(frozen=True, slots=True)
class FaultView:
    """How often one fault was met, by arm: applications, and trials with at least one."""

    description: str
    injections: Mapping[str, int]
    trials: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TaskView:
    """(successes, trials) of one task, by arm."""

    task_id: str
    counts: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class ConditionView:
    decision: ConditionDecision
    bucket: str
    arms: tuple[ArmView, ...]
    faults: tuple[FaultView, ...]
    tasks: tuple[TaskView, ...]
    """Empty where the experiment has one task."""
    flips: tuple[Flip, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    decision: Decision
    conditions: tuple[ConditionView, ...]
    circumstances: tuple[str, ...]
    """Where and when the trials ran, and what was not enforced there."""
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    phases: Mapping[str, float]
    """Median seconds by phase over all trials."""
    use: Mapping[str, UpstreamUse | None]
    """Of models and decisions, by arm, over all conditions."""


def build_view(decision: Decision, run: StoredRun) -> ReportView:
    """Everything a renderer needs."""
    manifest, _ = read_manifest(run.manifest)
    records = {r["trial_id"]: r for r in run.records if isinstance(r, Mapping) and isinstance(r.get("trial_id"), str)}
    results = results_of(records.values())
    conditions = _conditions(decision, manifest, results, records) if manifest else ()
    info = run.info or {}
    return ReportView(
        decision=decision,
        conditions=conditions,
        circumstances=circumstances(manifest, info),
        warnings=tuple(info.get("warnings", ())),
        notes=run.notes,
        phases=_phases(records.values()),
        use={arm: upstream_use(records[r.trial_id] for r in results if r.arm == arm) for arm in ARMS},
    )


def _conditions(
    decision: Decision, manifest: Manifest, results: Sequence[Result], records: Mapping[str, Mapping[str, Any]]
) -> tuple[ConditionView, ...]:
    flips = benign_flips(manifest, results)
    views = []
    for decided in decision.conditions:
        condition = manifest.condition(decided.condition_id)
        mine = {arm: _of(results, condition.id, arm) for arm in ARMS}
        views.append(
            ConditionView(
                decision=decided,
                bucket=condition.bucket,
                arms=tuple(_arm(manifest, decided, arm, mine[arm], records) for arm in ARMS),
                faults=_faults(condition, mine),
                tasks=_tasks(manifest, mine),
                flips=tuple(flip for flip in flips if flip.condition_id == condition.id),
            )
        )
    return tuple(views)


def _of(results: Sequence[Result], condition_id: str, arm: str) -> list[Result]:
    mine = [r for r in results if (r.condition_id, r.arm) == (condition_id, arm)]
    return sorted(mine, key=lambda r: r.index)


def _arm(
    manifest: Manifest,
    decided: ConditionDecision,
    arm: str,
    results: Sequence[Result],
    records: Mapping[str, Mapping[str, Any]],
) -> ArmView:
    seconds = [s for r in results if (s := _seconds(records[r.trial_id], "usage", "agent_seconds")) is not None]
    return ArmView(
        name=arm,
        label=str(manifest.arms[arm].label),
        result=decided.arms[arm],
        planned=manifest.n_per_arm,
        excluded=Counter(str(r.blame) for r in results if r.outcome is Outcome.ERROR),
        interrupted=decided.interrupted[arm],
        distinct_traces=decided.distinct_traces[arm],
        failures=_failures(results, records),
        agent_seconds=(median(seconds), max(seconds)) if seconds else None,
        use=upstream_use(records[r.trial_id] for r in results),
    )


def _failures(results: Sequence[Result], records: Mapping[str, Mapping[str, Any]]) -> tuple[FailureGroup, ...]:
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.outcome is not Outcome.PASS:
            fingerprint = str(records[result.trial_id].get("fingerprint"))
            groups.setdefault((result.outcome.value, fingerprint), []).append(result)
    found = [
        FailureGroup(outcome, fingerprint, len(group), group[0].trial_id, group[0].detail)
        for (outcome, fingerprint), group in groups.items()
    ]
    return tuple(sorted(found, key=lambda group: (-group.count, group.example)))


def _faults(condition: Condition, results: Mapping[str, Sequence[Result]]) -> tuple[FaultView, ...]:
    return tuple(
        FaultView(
            describe_fault(fault),
            {arm: sum(r.injections[index] for r in results[arm]) for arm in ARMS},
            {arm: sum(r.injections[index] > 0 for r in results[arm]) for arm in ARMS},
        )
        for index, fault in enumerate(condition.faults)
    )


def _tasks(manifest: Manifest, results: Mapping[str, Sequence[Result]]) -> tuple[TaskView, ...]:
    """The task of a trial is the schedule's rule: index modulo the number of tasks."""
    count = len(manifest.tasks)
    if count < 2:
        return ()
    views = []
    for position, task in enumerate(manifest.tasks):
        mine = {arm: [r for r in results[arm] if r.index % count == position] for arm in ARMS}
        counts = {arm: (sum(r.outcome is Outcome.PASS for r in rs), len(rs)) for arm, rs in mine.items()}
        views.append(TaskView(str(task.id), counts))
    return tuple(views)


def _phases(records: Any) -> dict[str, float]:
    seconds: dict[str, list[float]] = {}
    for record in records:
        phases = record.get("phases")
        for name in phases if isinstance(phases, Mapping) else ():
            value = _seconds(record, "phases", name)
            if value is not None:
                seconds.setdefault(name, []).append(value)
    return {name: median(values) for name, values in chronological(seconds).items()}


def _seconds(record: Mapping[str, Any], *path: str) -> float | None:
    value: Any = record
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
