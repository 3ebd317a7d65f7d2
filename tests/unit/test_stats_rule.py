"""The rule's thresholds and the exact probabilities of its verdicts. No random draws."""

from __future__ import annotations

from math import comb

import pytest

from arci.model.trial import Verdict
from arci.stats.enumeration import verdict_probabilities
from arci.stats.intervals import Interval, clopper_pearson, difference
from arci.stats.rule import is_vacuous, judge, tail_level


def verdict(baseline: tuple[int, int], candidate: tuple[int, int], delta: float = 0.10, alpha: float = 0.05) -> Verdict:
    tail = tail_level(alpha, 1)
    return judge(difference(clopper_pearson(*baseline, tail), clopper_pearson(*candidate, tail)), delta)


@pytest.mark.parametrize(
    ("baseline", "candidate", "expected"),
    [
        ((192, 200), (132, 200), Verdict.BLOCK),
        ((200, 200), (0, 200), Verdict.BLOCK),
        ((200, 200), (130, 200), Verdict.BLOCK),
        ((376, 400), (308, 400), Verdict.INCONCLUSIVE),
        ((50, 50), (38, 50), Verdict.INCONCLUSIVE),
        ((192, 200), (192, 200), Verdict.PASS),
        ((30, 200), (200, 200), Verdict.PASS),
    ],
)
def test_known_experiments_get_their_verdicts(
    baseline: tuple[int, int], candidate: tuple[int, int], expected: Verdict
) -> None:
    assert verdict(baseline, candidate) is expected


def test_two_perfect_arms_pass_from_42_trials_on_and_not_before() -> None:
    assert [n for n in range(1, 60) if verdict((n, n), (n, n)) is Verdict.PASS] == list(range(42, 60))


def test_a_total_collapse_blocks_from_8_trials_on_and_not_before() -> None:
    assert [n for n in range(1, 30) if verdict((n, n), (0, n)) is Verdict.BLOCK] == list(range(8, 30))


def test_both_comparisons_with_delta_are_strict() -> None:
    assert judge(Interval(-0.1, 0.5), 0.1) is Verdict.INCONCLUSIVE
    assert judge(Interval(-0.5, -0.1), 0.1) is Verdict.INCONCLUSIVE


def test_more_conditions_and_looks_share_alpha() -> None:
    assert tail_level(0.05, 1) == 0.0125
    assert tail_level(0.05, 2, 5) == pytest.approx(0.00125)


def test_two_broken_agents_are_vacuous_and_a_better_candidate_is_not() -> None:
    tail = tail_level(0.05, 1)
    broken, perfect = clopper_pearson(0, 200, tail), clopper_pearson(200, 200, tail)
    weak = clopper_pearson(30, 200, tail)
    assert is_vacuous(broken.low, difference(broken, broken).low, 0.1)
    assert not is_vacuous(weak.low, difference(weak, perfect).low, 0.1)
    assert not is_vacuous(perfect.low, difference(perfect, perfect).low, 0.1)


@pytest.mark.parametrize(
    ("baseline", "candidate", "n", "of", "per_mille"),
    [
        (0.80, 0.80, 200, Verdict.PASS, 218),
        (0.95, 0.65, 20, Verdict.INCONCLUSIVE, 992),
        (0.95, 0.75, 200, Verdict.BLOCK, 365),
        (0.95, 0.95, 200, Verdict.PASS, 889),
    ],
)
def test_verdict_probabilities_have_their_known_values(
    baseline: float, candidate: float, n: int, of: Verdict, per_mille: int
) -> None:
    assert round(verdict_probabilities(baseline, candidate, n)[of] * 1000) == per_mille


@pytest.mark.parametrize(("baseline", "candidate"), [(0.9, 0.6), (0.05, 0.0), (1.0, 1.0), (0.0, 0.0), (0.2, 0.95)])
def test_the_enumeration_agrees_with_the_rule_counted_one_by_one(baseline: float, candidate: float) -> None:
    n, delta, tail = 45, 0.12, tail_level(0.1, 2)
    expected = dict.fromkeys(Verdict, 0.0)
    for b in range(n + 1):
        for c in range(n + 1):
            weight = comb(n, b) * baseline**b * (1 - baseline) ** (n - b)
            weight *= comb(n, c) * candidate**c * (1 - candidate) ** (n - c)
            of_baseline = clopper_pearson(b, n, tail)
            change = difference(of_baseline, clopper_pearson(c, n, tail))
            said = judge(change, delta)
            if said is Verdict.PASS and is_vacuous(of_baseline.low, change.low, delta):
                said = Verdict.ERROR
            expected[said] += weight
    probabilities = verdict_probabilities(baseline, candidate, n, alpha=0.1, delta=delta, conditions=2)
    assert probabilities == pytest.approx(expected, abs=1e-12)
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("baseline", [0.15, 0.5, 0.9, 0.99])
def test_a_wrong_verdict_is_rarer_than_alpha_for_any_rates(baseline: float) -> None:
    at_the_edge = verdict_probabilities(baseline, baseline - 0.10, 100)
    assert at_the_edge[Verdict.PASS] + at_the_edge[Verdict.BLOCK] <= 0.05
