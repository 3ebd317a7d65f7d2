"""Confidence intervals for one pass rate and for a difference of two. Pure; scipy is imported when one is asked for.

`clopper_pearson` decides; `wilson` is shown and never decides.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

__all__ = ["Interval", "clopper_pearson", "difference", "wilson"]


class Interval(NamedTuple):
    """A closed interval of rates in [0, 1], or of a difference of rates in [-1, 1]."""

    low: float
    high: float


def clopper_pearson(successes: int, n: int, tail: float) -> Interval:
    """Exact bounds on a rate: each side misses it with a probability of at most `tail` (0 < tail <= 0.5).

    Beta quantiles (Clopper and Pearson, Biometrika 26, 1934): low = B(tail; s, n-s+1), high = 1 - B(tail; n-s, s+1).
    Raises ValueError unless 0 <= successes <= n, n >= 1 and the tail is in range.
    """
    _check(successes, n)
    if not 0 < tail <= 0.5:
        raise ValueError(f"tail: {tail!r}; above 0, at most 0.5 is allowed")
    return Interval(_beta_low(successes, n, tail), 1.0 - _beta_low(n - successes, n, tail))


def wilson(successes: int, n: int, confidence: float = 0.95) -> Interval:
    """Score interval of a rate (Wilson, JASA 22, 1927), two-sided, without continuity correction."""
    _check(successes, n)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, shrink = successes / n, 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / shrink
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / shrink
    # at the ends the formula gives 0 and 1, but floating point only nearly
    return Interval(centre - half if successes else 0.0, centre + half if successes < n else 1.0)


def difference(baseline: Interval, candidate: Interval) -> Interval:
    """Bounds on candidate minus baseline: [L_c - U_b, U_c - L_b]. Tails of t per arm and side add up to 2t a side."""
    return Interval(candidate.low - baseline.high, candidate.high - baseline.low)


def _check(successes: int, n: int) -> None:
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"successes of trials: {successes} of {n}; 0 <= successes <= n and n >= 1 are allowed")


def _beta_low(successes: int, n: int, tail: float) -> float:
    """The lower bound. One function for both sides, so that the bounds of s and n-s mirror each other exactly."""
    from scipy.special import betaincinv  # 0.2 s to import: not for commands that decide nothing

    return 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
