"""The gate's rule over intervals: which tail each arm gets, what a difference says, when a PASS says nothing. Pure."""

from __future__ import annotations

from arci.model.trial import Verdict
from arci.stats.intervals import Interval

__all__ = ["is_vacuous", "judge", "tail_level"]


def tail_level(alpha: float, conditions: int, looks: int = 1) -> float:
    """Probability of missing a rate on each side of each arm: alpha / (4 K L), for K gating conditions and L looks.

    4 = two arms times two sides, so the chance that any bound of the experiment misses is at most alpha (Bonferroni).
    """
    return alpha / (4 * conditions * looks)


def judge(change: Interval, delta: float) -> Verdict:
    """PASS if the whole interval of candidate minus baseline is above -delta, BLOCK if it is below; both strictly."""
    if change.low > -delta:
        return Verdict.PASS
    return Verdict.BLOCK if change.high < -delta else Verdict.INCONCLUSIVE


def is_vacuous(baseline_low: float, change_low: float, delta: float) -> bool:
    """True if no drop of delta could have been seen: the baseline is not shown to pass more often than delta, and the
    candidate is not shown to be better either. Two broken agents look alike; that is no evidence."""
    return baseline_low <= delta and change_low <= 0
