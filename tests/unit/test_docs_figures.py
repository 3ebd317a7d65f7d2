"""The figures of the page on verdicts, each worked out again."""

from __future__ import annotations

import re

import pytest
from docs_pages import page, tables

from arci.manifest.cautions import least_n_to_block, least_n_to_pass
from arci.model.trial import Verdict
from arci.stats.enumeration import verdict_probabilities
from arci.stats.intervals import Interval, clopper_pearson, difference
from arci.stats.rule import judge, tail_level

ALPHA, DELTA = 0.05, 0.10
TAIL = tail_level(ALPHA, 1)
SHOWN = tables(page("docs/explanation/verdicts.md"))
LEAST = {row[0]: int(row[1]) for row in SHOWN["How many trials"] if len(row) == 2}
CHANCES = [row for row in SHOWN["How many trials"] if len(row) == 5]


def bounds_of(count: str) -> Interval:
    successes, n = map(int, count.split("/"))
    return clopper_pearson(successes, n, TAIL)


def test_there_are_figures() -> None:
    assert (len(SHOWN["The bounds"]), len(LEAST), len(CHANCES)) == (6, 3, 8)


@pytest.mark.parametrize(("baseline", "candidate", "bounds", "verdict"), SHOWN["The bounds"])
def test_the_bounds_are_those_of_the_rule(baseline: str, candidate: str, bounds: str, verdict: str) -> None:
    change = difference(bounds_of(baseline), bounds_of(candidate))
    assert bounds == f"[{change.low:.4f}, {change.high:.4f}]"
    assert verdict == judge(change, DELTA)


@pytest.mark.parametrize(("baseline", "candidate", "n", "verdict", "chance"), CHANCES)
def test_the_chance_of_a_verdict_is_exact(baseline: str, candidate: str, n: str, verdict: str, chance: str) -> None:
    found = verdict_probabilities(float(baseline), float(candidate), int(n), alpha=ALPHA, delta=DELTA)
    assert chance == f"{found[Verdict(verdict)] * 100:.1f} %"


def least(start: str) -> int:
    (n,) = [n for what, n in LEAST.items() if what.startswith(start)]
    return n


def test_the_least_numbers_of_trials_are_the_least() -> None:
    assert least("two arms") == least_n_to_pass(TAIL, DELTA)
    assert least("a total collapse") == least_n_to_block(TAIL, DELTA)
    n = least("trials without a failure")
    assert clopper_pearson(n, n, 0.05).low > 0.995 >= clopper_pearson(n - 1, n - 1, 0.05).low


def test_the_first_experiment_speaks_of_the_same_least() -> None:
    told = re.search(r"Fewer than (\d+) trials", page("docs/how-to/first-experiment.md"))
    assert told is not None
    assert int(told[1]) == least("two arms")
