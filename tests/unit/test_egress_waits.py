"""For how long a trial's calls have waited: spans that overlap count once, and one that goes on counts up to now."""

from __future__ import annotations

from arci.run.egress.waits import Waits


def test_overlapping_waits_count_once_and_an_open_one_up_to_now() -> None:
    now, waits = [10.0], Waits()
    assert waits.total_s == 0.0
    waits.begin(lambda: now[0])
    now[0] = 12.0
    assert waits.total_s == 2.0
    waits.begin(lambda: now[0])
    now[0] = 13.0
    waits.end()
    now[0] = 15.0
    waits.end()
    now[0] = 100.0
    assert waits.total_s == 5.0
    waits.begin(lambda: now[0])
    now[0] = 101.0
    waits.end()
    assert waits.total_s == 6.0
