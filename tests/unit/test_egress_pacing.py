"""Rate, number at once, order and patience, decided without a clock of their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.run.egress.pacing import Pace
from arci.run.egress.resending import backoff_s, retry_after_s


@given(
    per_minute=st.integers(1, 400),
    concurrency=st.integers(1, 50),
    gaps=st.lists(st.floats(0, 30), min_size=1, max_size=120),
)
def test_no_sixty_seconds_see_more_requests_than_declared(per_minute: int, concurrency: int, gaps: list[float]) -> None:
    pace = Pace(per_minute, concurrency, 0.0)
    now_s, admitted_at = 0.0, []
    for gap in gaps:
        now_s += gap
        pace.ask()
        for ticket in pace.admit(now_s)[0]:
            admitted_at.append(now_s)
            pace.answered(ticket)
    for start in admitted_at:
        assert sum(start <= at < start + 60 for at in admitted_at) <= per_minute


@given(per_minute=st.integers(1, 1000), concurrency=st.integers(1, 50), number=st.integers(1, 60))
def test_whoever_waits_as_long_as_told_goes_out_in_the_order_of_asking(
    per_minute: int, concurrency: int, number: int
) -> None:
    pace = Pace(per_minute, concurrency, 0.0)
    asked = [pace.ask() for _ in range(number)]
    out: list[int] = []
    now_s, rounds = 0.0, 0
    while len(out) < number:
        admitted, wait_s = pace.admit(now_s)
        for ticket in admitted:
            pace.answered(ticket)
        out += admitted
        assert admitted or wait_s is not None
        now_s += wait_s or 0.0
        rounds += 1
        assert rounds <= 3 * number + 3
    assert out == asked


def test_no_more_are_under_way_than_declared() -> None:
    pace = Pace(6000, 3, 0.0)
    asked = [pace.ask() for _ in range(5)]
    assert pace.admit(0.0) == (asked[:3], None)
    pace.broken(asked[1])
    assert pace.admit(1.0) == ([asked[3]], None)


def test_a_round_of_refusals_halves_the_number_once_and_full_rounds_of_answers_give_it_back() -> None:
    pace = Pace(60_000, 16, 0.0)
    asked = [pace.ask() for _ in range(16)]
    pace.admit(0.0)
    for ticket in asked:
        pace.throttled(ticket)
    assert pace.limit == 8
    limits = []
    for second in range(1, 500):
        ticket = pace.ask()
        pace.admit(float(second))
        pace.answered(ticket)
        limits.append(pace.limit)
    assert limits[6:8] == [8, 9]
    assert limits[7 + 8 : 7 + 10] == [9, 10]
    assert max(limits) == limits[-1] == 16


def test_refusals_never_stop_everything() -> None:
    pace = Pace(60_000, 5, 0.0)
    for second in range(10):
        ticket = pace.ask()
        assert pace.admit(float(second))[0] == [ticket]
        pace.throttled(ticket)
    assert pace.limit == 1


def test_what_breaks_teaches_nothing() -> None:
    pace = Pace(60_000, 4, 0.0)
    for second in range(20):
        ticket = pace.ask()
        pace.admit(float(second))
        pace.broken(ticket)
    assert pace.limit == 4


def test_a_hold_keeps_everyone_back_until_it_is_over() -> None:
    pace = Pace(6000, 4, 0.0)
    pace.hold(12.0)
    pace.hold(5.0)
    first = pace.ask()
    assert pace.admit(2.0) == ([], 10.0)
    assert pace.admit(12.0) == ([first], None)


def test_a_resend_waits_in_its_old_place() -> None:
    pace = Pace(6000, 1, 0.0)
    first, second = pace.ask(), pace.ask()
    pace.admit(0.0)
    third = pace.ask()
    pace.broken(first)
    pace.ask_again(first)
    assert pace.admit(1.0)[0] == [first]
    pace.answered(first)
    assert pace.admit(2.0)[0] == [second]
    pace.leave(third)
    pace.answered(second)
    assert pace.admit(3.0) == ([], None)


def test_backing_off_doubles() -> None:
    assert [backoff_s(n) for n in range(3)] == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], None),
        ([("retry-after", "7")], 7.0),
        ([("retry-after", " 1.5 ")], 1.5),
        ([("retry-after", "0")], 0.0),
        ([("retry-after-ms", "250"), ("retry-after", "9")], 0.25),
        ([("retry-after-ms", "soon"), ("retry-after", "9")], 9.0),
        ([("retry-after", "Sun, 09 Sep 2001 01:46:50 GMT")], 10.0),
        ([("retry-after", "Sun, 09 Sep 2001 01:46:30 GMT")], 0.0),
        ([("retry-after", "-5")], None),
        ([("retry-after", "nan")], None),
        ([("retry-after", "1e9")], None),
        ([("retry-after", "Sun, 99 Sep 2001 01:46:30 GMT")], None),
        ([("retry-after", "9" * 400)], None),
    ],
)
def test_retry_after_is_read_in_each_of_its_forms(headers: list[tuple[str, str]], expected: float | None) -> None:
    assert retry_after_s(headers, 1_000_000_000.0) == expected
