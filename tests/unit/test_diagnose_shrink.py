"""The shrinker: what it finds, how often it asks, and when it calls a result minimal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.diagnose.shrink import Shrunk, shrink, without_parts

Items = tuple[int, ...]


def _single(value: Items) -> list[Items]:
    return [(*value[:i], *value[i + 1 :]) for i in range(len(value))]


def _needs(*wanted: int) -> Callable[[Items], Awaitable[bool]]:
    async def interesting(value: Items) -> bool:
        return set(wanted) <= set(value)

    return interesting


def _shrunk(value: Items, interesting: Callable[[Items], Awaitable[bool]], max_calls: int = 500) -> Shrunk[Items]:
    return anyio.run(partial(shrink, value, [without_parts], interesting, single=[_single], max_calls=max_calls))


@pytest.mark.parametrize("culprit", [0, 1, 2])
def test_three_shrink_to_one_in_at_most_five_questions(culprit: int) -> None:
    found = _shrunk((0, 1, 2), _needs(culprit))
    assert found.value == (culprit,)
    assert found.is_minimal
    assert found.calls <= 5


@given(st.integers(1, 14).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), max_size=4))))
def test_a_known_minimum_is_reached_and_proved(case: tuple[int, set[int]]) -> None:
    size, wanted = case
    found = _shrunk(tuple(range(size)), _needs(*wanted))
    assert set(found.value) == wanted
    assert found.is_minimal
    assert found.was_interesting


def test_what_is_not_interesting_to_begin_with_is_left_alone() -> None:
    found = _shrunk((1, 2), _needs(7))
    assert (found.value, found.was_interesting, found.is_minimal, found.calls) == ((1, 2), False, False, 1)


def test_nothing_is_asked_twice() -> None:
    asked: list[Items] = []

    async def interesting(value: Items) -> bool:
        asked.append(value)
        return {2, 9} <= set(value)

    found = _shrunk(tuple(range(12)), interesting)
    assert found.value == (2, 9)
    assert len(asked) == len(set(asked)) == found.calls


@pytest.mark.parametrize("most", range(1, 12))
def test_a_search_that_was_cut_short_is_never_called_minimal(most: int) -> None:
    full = _shrunk(tuple(range(6)), _needs(1, 4))
    found = _shrunk(tuple(range(6)), _needs(1, 4), max_calls=most)
    assert found.calls <= most
    assert {1, 4} <= set(found.value)
    assert not found.is_minimal or found.calls == full.calls


def test_without_single_steps_nothing_is_called_minimal() -> None:
    value: Items = (1, 2, 3)
    found: Shrunk[Items] = anyio.run(partial(shrink, value, [without_parts], _needs(2)))
    assert found.value == (2,)
    assert not found.is_minimal


@given(st.lists(st.integers(), max_size=20))
def test_every_proposal_is_smaller_and_made_of_the_same_items(items: list[int]) -> None:
    for proposal in without_parts(items):
        rest = iter(items)
        assert len(proposal) < len(items)
        assert all(item in rest for item in proposal), "the order is kept"
