"""The decision of one condition, from the results of its trials. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arci.gate.decision import ArmResult, ConditionDecision
from arci.gate.result import Result
from arci.gate.void import describe_fault, is_shadowed
from arci.model.manifest import Condition, Manifest
from arci.model.trial import ARMS, Outcome, Verdict
from arci.stats.intervals import Interval, clopper_pearson, difference, wilson
from arci.stats.rule import is_vacuous, judge, tail_level

__all__ = ["gating_conditions", "judge_condition"]

ByArm = Mapping[str, Sequence[Result]]


@dataclass(frozen=True, slots=True)
class _Said:
    verdict: Verdict
    reasons: tuple[str, ...]


def gating_conditions(manifest: Manifest) -> int:
    """K: over how many conditions alpha is shared."""
    return sum(condition.is_gating for condition in manifest.conditions)


def judge_condition(
    manifest: Manifest, condition: Condition, results: ByArm, interrupted: Mapping[str, int], holds: bool
) -> ConditionDecision:
    """`holds`: nothing speaks against the records. Without that there are counts, but no bounds and no verdict."""
    tail = tail_level(manifest.alpha, gating_conditions(manifest))
    arms = {arm: _arm(results[arm], tail, holds) for arm in ARMS}
    change = _change(arms) if holds else None
    hard = {arm: _hard_violations(manifest, results[arm]) for arm in ARMS}
    said = None
    if condition.is_gating:
        said = _judge(manifest, condition, results, arms, change, hard)
    distinct = {arm: len({r.trace_sha256 for r in results[arm] if r.outcome is not Outcome.ERROR}) for arm in ARMS}
    warnings = [_alike(arm, len(results[arm])) for arm in ARMS if distinct[arm] == 1 and len(results[arm]) > 1]
    return ConditionDecision(
        condition_id=condition.id,
        is_gating=condition.is_gating,
        verdict=said.verdict if said else None,
        reasons=(*(said.reasons if said else ("reported, does not gate",)), *warnings),
        delta_low=change.low if change else None,
        delta_high=change.high if change else None,
        injections={arm: sum(r.injections.total() for r in results[arm]) for arm in ARMS},
        interrupted={arm: interrupted.get(arm, 0) for arm in ARMS},
        distinct_traces=distinct,
        hard_violations=hard,
        baseline=arms["baseline"],
        candidate=arms["candidate"],
    )


def _arm(results: Sequence[Result], tail: float, holds: bool) -> ArmResult:
    n = len(results)
    successes = sum(r.outcome is Outcome.PASS for r in results)
    errors = sum(r.outcome is Outcome.ERROR for r in results)
    if n == 0 or not holds:
        return ArmResult(n, successes, errors, successes / n if n else None, None, None, None, None)
    # An ERROR trial could have been either: the lower bound takes it for a failure, the upper one for a success.
    low, high = clopper_pearson(successes, n, tail).low, clopper_pearson(successes + errors, n, tail).high
    return ArmResult(n, successes, errors, successes / n, low, high, *wilson(successes, n))


def _change(arms: Mapping[str, ArmResult]) -> Interval | None:
    """With ERROR trials this is `worst_case`: each bound takes them against the verdict that it could give."""
    baseline, candidate = arms["baseline"], arms["candidate"]
    if baseline.low is None or baseline.high is None or candidate.low is None or candidate.high is None:
        return None
    return difference(Interval(baseline.low, baseline.high), Interval(candidate.low, candidate.high))


def _hard_violations(manifest: Manifest, results: Sequence[Result]) -> dict[str, int]:
    counts = {name: sum(name in result.violated for result in results) for name in manifest.contract.hard}
    return {name: count for name, count in counts.items() if count}


def _judge(
    manifest: Manifest,
    condition: Condition,
    results: ByArm,
    arms: Mapping[str, ArmResult],
    change: Interval | None,
    hard: Mapping[str, Mapping[str, int]],
) -> _Said:
    errors = sum(arm.errors for arm in arms.values())
    if change is None:
        return _Said(Verdict.ERROR, ("the records do not hold: no bounds are given",))
    if errors and manifest.on_error == "invalidate":
        return _Said(Verdict.ERROR, (f"{errors} trials are ERROR and on_error is invalidate",))
    imputed = (f"{errors} ERROR trials are counted against each verdict (on_error: worst_case)",) if errors else ()
    by_rate = judge(change, manifest.delta)
    reasons = (_why(by_rate, change, manifest.delta), *imputed)
    broken = [name for name in hard["candidate"] if name not in hard["baseline"]]
    if broken:
        rules = (
            f"hard rule {name}: violated by the candidate in {hard['candidate'][name]} trials, by the baseline in"
            " none (a rule of the user's, outside alpha)"
            for name in broken
        )
        return _Said(Verdict.BLOCK, (*rules, *reasons))
    if by_rate is Verdict.BLOCK:
        return _Said(by_rate, reasons)
    unmet = _unmet(condition, results)
    if unmet:
        return _Said(Verdict.ERROR, (*unmet, *reasons))
    if by_rate is Verdict.PASS and is_vacuous(arms["baseline"].low or 0.0, change.low, manifest.delta):
        return _Said(Verdict.ERROR, (_vacuous(arms["baseline"], manifest.delta), *reasons))
    return _Said(by_rate, reasons)


def _unmet(condition: Condition, results: ByArm) -> list[str]:
    """Faults that were applied too seldom for the condition to have tested what it declares."""
    reasons = []
    met = [sum(r.injections[index] for arm in ARMS for r in results[arm]) for index in range(len(condition.faults))]
    for index, fault in enumerate(condition.faults):
        shadowed = any(met[:index]) and is_shadowed(condition.faults, index)
        if met[index] < fault.min_injections and not shadowed:
            trials = {arm: sum(r.injections[index] > 0 for r in results[arm]) for arm in ARMS}
            told = ", ".join(f"{arm}: injected in {trials[arm]} of {len(results[arm])} trials" for arm in ARMS)
            few = "no injection" if fault.min_injections == 1 else f"fewer than {fault.min_injections} injections"
            reasons.append(f"{describe_fault(fault)}: {few} ({told})")
    return reasons


def _why(verdict: Verdict, change: Interval, delta: float) -> str:
    bounds = f"candidate minus baseline is within [{change.low:.4f}, {change.high:.4f}]"
    edge = f"{-delta:.4f}"
    if verdict is Verdict.PASS:
        return f"{bounds}, all of it above {edge}: any drop is smaller than {delta:g}"
    if verdict is Verdict.BLOCK:
        return f"{bounds}, all of it below {edge}: the drop is larger than {delta:g}"
    return f"{bounds}, which holds {edge}: the evidence shows neither a drop larger than {delta:g} nor its absence"


def _vacuous(baseline: ArmResult, delta: float) -> str:
    return (
        f"void PASS: the baseline passed {baseline.successes} of {baseline.n}, so a drop of {delta:g} could not have "
        "been seen, and the candidate is not shown to be better"
    )


def _alike(arm: str, n: int) -> str:
    return f"warning: every trial of the {arm} gave the same trace: its {n} trials carry the information of one"
