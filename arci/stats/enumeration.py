"""Exact probability of each verdict of a design, by enumerating every pair of counts. Pure; no random draws.

Used to test the rule's guarantees, and to plan an experiment before a trial is paid for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arci.model.trial import Verdict
from arci.stats.rule import tail_level

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["verdict_probabilities"]


def verdict_probabilities(
    baseline: float, candidate: float, n: int, *, alpha: float = 0.05, delta: float = 0.10, conditions: int = 1
) -> dict[Verdict, float]:
    """Probability of each verdict of one gating condition with `n` trials per arm, where the true pass rates are
    `baseline` and `candidate` and the experiment has `conditions` gating conditions. ERROR is the vacuous PASS.

    Exact up to floating point; time and work are O(n^2), memory O(n).
    """
    import numpy as np

    lows, highs = _bounds(n, tail_level(alpha, conditions))
    weight_of_baseline, weights = _binomial(n, baseline), _binomial(n, candidate)
    total = dict.fromkeys(Verdict, 0.0)
    for count in range(n + 1):
        change_low, change_high = lows - highs[count], highs - lows[count]
        passes = change_low > -delta
        vacuous = passes & (change_low <= 0) if lows[count] <= delta else np.zeros_like(passes)
        blocks = ~passes & (change_high < -delta)
        weight = float(weight_of_baseline[count])
        total[Verdict.PASS] += weight * float(weights[passes & ~vacuous].sum())
        total[Verdict.ERROR] += weight * float(weights[vacuous].sum())
        total[Verdict.BLOCK] += weight * float(weights[blocks].sum())
        total[Verdict.INCONCLUSIVE] += weight * float(weights[~passes & ~blocks].sum())
    return total


def _bounds(n: int, tail: float) -> tuple[Floats, Floats]:
    """Clopper-Pearson bounds of every count 0..n: the same numbers as `intervals.clopper_pearson`, all at once."""
    import numpy as np
    from scipy.special import betaincinv

    counts = np.arange(1, n + 1, dtype=np.float64)
    lows = np.concatenate([[0.0], betaincinv(counts, n - counts + 1, tail)])
    return lows, 1.0 - lows[::-1]


def _binomial(n: int, rate: float) -> Floats:
    """Probability of every count 0..n. By logarithms: the coefficients overflow beyond n = 1000."""
    import numpy as np
    from scipy.special import gammaln, xlog1py, xlogy

    counts = np.arange(n + 1, dtype=np.float64)
    choose = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    weights: Floats = np.exp(choose + xlogy(counts, rate) + xlog1py(n - counts, -rate))
    return weights
