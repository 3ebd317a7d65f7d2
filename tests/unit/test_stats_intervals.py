"""Known values of the intervals, and their guarantees by exact enumeration."""

from __future__ import annotations

from math import comb

import pytest

from arci.stats.intervals import Interval, clopper_pearson, difference, wilson
from arci.stats.rule import tail_level

TAIL = tail_level(0.05, 1)


def change(baseline: tuple[int, int], candidate: tuple[int, int], tail: float = TAIL) -> Interval:
    return difference(clopper_pearson(*baseline, tail), clopper_pearson(*candidate, tail))


@pytest.mark.parametrize(
    ("baseline", "candidate", "low", "high"),
    [
        ((192, 200), (132, 200), -0.4048, -0.1829),
        ((200, 200), (130, 200), -0.4304, -0.2537),
        ((376, 400), (308, 400), -0.2445, -0.0921),
        ((50, 50), (38, 50), -0.4016, -0.0348),
    ],
)
def test_bounds_on_the_difference_have_their_known_values(
    baseline: tuple[int, int], candidate: tuple[int, int], low: float, high: float
) -> None:
    bounds = change(baseline, candidate)
    assert (round(bounds.low, 4), round(bounds.high, 4)) == (low, high)


def test_a_total_collapse_reaches_minus_one_exactly() -> None:
    bounds = change((200, 200), (0, 200))
    assert bounds.low == -1.0
    assert round(bounds.high, 3) == -0.957


def test_598_clean_trials_and_no_fewer_show_a_failure_rate_below_half_a_percent() -> None:
    assert 1 - clopper_pearson(598, 598, 0.05).low < 0.005
    assert 1 - clopper_pearson(597, 597, 0.05).low > 0.005


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("tail", [0.5, 0.025, 0.0125, 0.0001])
def test_clopper_pearson_inverts_the_binomial_tails(n: int, tail: float) -> None:
    for s in range(1, n + 1):
        low = clopper_pearson(s, n, tail).low
        at_least = sum(comb(n, k) * low**k * (1 - low) ** (n - k) for k in range(s, n + 1))
        assert at_least == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize("n", [1, 5, 30, 200])
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.3, 0.5, 0.77, 0.95, 0.9999])
def test_each_side_misses_a_rate_at_most_with_its_tail(n: int, rate: float) -> None:
    weights = [comb(n, s) * rate**s * (1 - rate) ** (n - s) for s in range(n + 1)]
    intervals = [clopper_pearson(s, n, TAIL) for s in range(n + 1)]
    assert sum(w for w, i in zip(weights, intervals, strict=True) if i.low > rate) <= TAIL
    assert sum(w for w, i in zip(weights, intervals, strict=True) if i.high < rate) <= TAIL


def test_bounds_of_successes_and_failures_mirror_each_other_exactly() -> None:
    for s in range(38):
        one, other = clopper_pearson(s, 37, TAIL), clopper_pearson(37 - s, 37, TAIL)
        assert one.high == 1 - other.low


def test_wilson_has_its_known_values() -> None:
    assert [round(b, 4) for b in wilson(192, 200)] == [0.9231, 0.9796]
    assert [round(b, 4) for b in wilson(132, 200)] == [0.5919, 0.7221]
    assert wilson(0, 10).low == 0.0
    assert wilson(10, 10).high == 1.0


@pytest.mark.parametrize(("successes", "n"), [(-1, 10), (11, 10), (0, 0)])
def test_counts_that_cannot_be_are_refused(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} of {n}"):
        clopper_pearson(successes, n, 0.025)
    with pytest.raises(ValueError, match=f"{successes} of {n}"):
        wilson(successes, n)


@pytest.mark.parametrize("tail", [0.0, -0.1, 0.6, float("nan")])
def test_a_tail_out_of_range_is_refused(tail: float) -> None:
    with pytest.raises(ValueError, match="tail"):
        clopper_pearson(1, 2, tail)
