"""What the gate says: the verdict with the bounds behind it, and its one written form. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from arci.model.canonical import canonical
from arci.model.trial import Verdict

__all__ = ["DECISION_FORMAT", "ArmResult", "ConditionDecision", "Decision", "decision_bytes"]

DECISION_FORMAT = "arci.decision/1"
_DIGITS = 12
"""Bounds are written to so many decimals: the last bits of a quantile differ between builds of scipy."""


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm under one condition. Bounds are None where the records do not hold."""

    n: int
    """Trials recorded, ERROR trials among them."""
    successes: int
    errors: int
    rate: float | None
    """successes / n; ERROR trials stay in the denominator. None for n = 0."""
    low: float | None
    """Exact bounds at the decision's tail; with ERROR trials, over everything that these could have been."""
    high: float | None
    wilson_low: float | None
    """95 %, shown only."""
    wilson_high: float | None


@dataclass(frozen=True, slots=True)
class ConditionDecision:
    """One condition. The mappings are from arm to value."""

    condition_id: str
    is_gating: bool
    verdict: Verdict | None
    """None for a condition that does not gate."""
    reasons: tuple[str, ...]
    delta_low: float | None
    """Bounds on the candidate's rate minus the baseline's."""
    delta_high: float | None
    injections: Mapping[str, int]
    """Applications of any of the condition's faults, over all trials."""
    interrupted: Mapping[str, int]
    """Starts that led to no record and were, or must be, made again."""
    distinct_traces: Mapping[str, int]
    hard_violations: Mapping[str, Mapping[str, int]]
    """Arm -> invariant named in `hard` -> trials that violated it."""
    baseline: ArmResult
    candidate: ArmResult

    @property
    def arms(self) -> dict[str, ArmResult]:
        return {"baseline": self.baseline, "candidate": self.candidate}


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict of an experiment. What an unusable manifest does not tell is None or empty."""

    experiment_id: str
    manifest_sha256: str | None
    trials_sha256: str | None
    """SHA-256 of the records as `trials.jsonl` holds them."""
    verdict: Verdict
    reasons: tuple[str, ...]
    alpha: float | None = None
    delta: float | None = None
    interval_method: str | None = None
    k_conditions: int = 0
    n_per_arm: int | None = None
    looks: tuple[int, ...] = ()
    stopped_at_look: int | None = None
    history: tuple[Any, ...] = ()
    prior_runs: tuple[Any, ...] = ()
    conditions: tuple[ConditionDecision, ...] = ()

    def to_document(self) -> dict[str, Any]:
        """The JSON object of `decision.json`. It holds no time: the same evidence gives the same bytes."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            "format": DECISION_FORMAT,
            **values,
            "verdict": self.verdict.value,
            "exit_code": self.verdict.exit_code,
            "reasons": list(self.reasons),
            "looks": list(self.looks),
            "history": list(self.history),
            "prior_runs": list(self.prior_runs),
            "conditions": [_plain(condition) for condition in self.conditions],
        }


def decision_bytes(decision: Decision) -> bytes:
    """The content of `decision.json`."""
    return canonical(decision.to_document()) + b"\n"


def _plain(value: Any) -> Any:
    """A condition's decision as JSON."""
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0  # + 0.0: no negative zero
    if isinstance(value, ArmResult | ConditionDecision):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
