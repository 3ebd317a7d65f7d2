"""The sentences and figures that every renderer shares. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from arci.gate.decision import Decision
from arci.model.manifest import Manifest
from arci.model.trial import Verdict

__all__ = [
    "bounds",
    "circumstances",
    "condition_mark",
    "conditions_of",
    "counted",
    "headline",
    "prior_run",
    "rate",
    "rule",
    "seconds",
]

T = TypeVar("T")

_PHASES = ("create", "start", "ready", "agent", "seal", "grade")
_NOTHING = "process isolation isolates nothing"
"""How a run with processes warns of it, which need not be said twice."""
_NOT_ENFORCED = f" ({_NOTHING}: no limit, no network policy and no image was enforced)"


def counted(count: int, noun: str) -> str:
    """`1 trial`, `3 trials`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def headline(decision: Decision) -> str:
    """What the verdict means, in one sentence."""
    delta = f"{decision.delta:g}" if decision.delta is not None else "delta"
    if decision.verdict is Verdict.PASS:
        return f"The evidence supports that any drop from baseline to candidate is smaller than {delta}."
    if decision.verdict is Verdict.INCONCLUSIVE:
        return f"The evidence supports neither a drop larger than {delta} nor its absence."
    if decision.verdict is Verdict.ERROR:
        return "The experiment is invalid: it says nothing about the candidate."
    blocking = [condition for condition in decision.conditions if condition.verdict is Verdict.BLOCK]
    if all(
        condition.delta_high is not None and condition.delta_high < -(decision.delta or 0) for condition in blocking
    ):
        return f"The evidence supports a drop from baseline to candidate larger than {delta}."
    return "The candidate alone breaks a rule that was declared hard."


def condition_mark(decision: Decision, condition_id: str) -> str:
    """`answer-lost (BLOCK)`, `hopeless (does not gate)`; of a condition that the decision does not tell, its id."""
    for condition in decision.conditions:
        if condition.condition_id == condition_id:
            return f"{condition_id} ({condition.verdict or 'does not gate'})"
    return condition_id


def conditions_of(decision: Decision, condition_ids: Iterable[str]) -> str:
    """The conditions of a group of failures with what the gate said of each."""
    return ", ".join(condition_mark(decision, each) for each in condition_ids)


def bounds(low: float | None, high: float | None) -> str:
    """`[-0.4048, -0.1829]`, or a dash where there are none."""
    return "-" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"


def rate(successes: int, n: int) -> str:
    """`0.9600`, or a dash for no trials."""
    return f"{successes / n:.4f}" if n else "-"


def seconds(value: float) -> str:
    """`0.25 s`, with more digits where it is short."""
    return f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"


def chronological(phases: Mapping[str, T]) -> dict[str, T]:
    """The phases of a trial in the order in which it goes through them; what is none of them behind, by name."""
    known = [name for name in _PHASES if name in phases]
    return {name: phases[name] for name in [*known, *sorted(set(phases) - set(known))]}


def prior_run(prior: Any) -> str:
    """An entry of `prior_runs`: one of ours as name and verdict, anything else as its JSON."""
    if isinstance(prior, Mapping) and set(prior) == {"store", "manifest_sha256", "verdict"}:
        seal = str(prior["manifest_sha256"])[:12]
        return f"{prior['store']}: {prior['verdict'] or 'no verdict'} (manifest {seal})"
    return json.dumps(prior, sort_keys=True, ensure_ascii=False)


def rule(decision: Decision) -> str:
    """The rule that was sealed before the first trial, in one line."""
    if decision.alpha is None or decision.delta is None:
        return "no rule could be read"
    gating = f"{decision.k_conditions} gating condition{'' if decision.k_conditions == 1 else 's'}"
    return (
        f"alpha {decision.alpha:g}, delta {decision.delta:g}, {decision.interval_method}, "
        f"{gating}, {decision.n_per_arm} trials per arm and condition"
    )


def circumstances(manifest: Manifest | None, info: Mapping[str, Any]) -> tuple[str, ...]:
    """Where and when the trials ran, and what was not enforced there."""
    facts = []
    if manifest is not None:
        warned = any(str(warning).startswith(_NOTHING) for warning in info.get("warnings", ()))
        told = _NOT_ENFORCED if manifest.isolation.backend == "process" and not warned else ""
        facts.append(f"isolation: {manifest.isolation.backend}{told}")
        if manifest.isolation.allow_unenforced:
            facts.append("limits that the engine does not enforce were allowed (allow_unenforced)")
    engine = info.get("engine")
    if isinstance(engine, Mapping) and engine:
        facts.append("engine: " + ", ".join(f"{key} {value}" for key, value in sorted(engine.items())))
    if "started_at" in info:
        facts.append(f"run {info.get('run_id')}: started {info['started_at']}, ended {info.get('ended_at')}")
    return tuple(facts)
