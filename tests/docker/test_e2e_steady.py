"""What `arci` holds, and has on an engine, does not grow with the trials of a run; nothing is left after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.held import Held, children
from bench.steady import steady

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

FIRST, TRIALS, WORKERS = 20, 60, 2
BETWEEN = TRIALS - WORKERS - FIRST
"""Trials from the first count to the last: a thing that each of them leaves behind is there so often."""
SLACK = BETWEEN // 3
"""A slot, a connection or a thread that was first needed late is kept for the next trial."""
KINDS = ("arci.", "anyio.", "asyncio.", "docker.", "requests.", "urllib3.", "http.")
"""Objects that are told apart by their kind. A new slot, thread or connection brings dozens of lists and the like."""
MOST_BLOCKS = 100
"""Blocks of memory that a trial may leave behind, as long as slots are still being made: a record takes more."""
TIMERS = {"asyncio.events.TimerHandle"}
"""An event loop throws away its cancelled timers only once there are a hundred."""


def leaked(first: Held, middle: Held, last: Held) -> set[str]:
    """The kinds of objects of which each trial left one at least, in both halves."""
    halves = (middle.growth(first), last.growth(middle))
    kinds = [{kind for kind, count in half.items() if count >= BETWEEN // 2} for half in halves]
    return {kind for kind in kinds[0] & kinds[1] if kind.startswith(KINDS)} - TIMERS


def blocks_per_trial(first: Held, middle: Held, last: Held) -> float:
    """Blocks of memory that a trial left behind, in the half where it left fewer."""
    name = "blocks of memory"
    grown = (middle.counts[name] - first.counts[name], last.counts[name] - middle.counts[name])
    return min(grown) / (BETWEEN / 2)


@pytest.mark.parametrize("backend", ["process", "docker"])
async def test_sixty_trials_leave_no_more_behind_than_twenty(backend: str, tmp_path: Path) -> None:
    before = len(children())  # other tests have some, such as an engine of theirs
    first, middle, last, after_all, closed = await steady(backend, TRIALS, WORKERS, tmp_path, first=FIRST)
    assert [first.label, last.label, after_all.label] == [f"{FIRST}", f"{TRIALS - WORKERS}", f"all {TRIALS}"]
    assert (first.counts.get("containers of trials", 0), last.counts.get("containers of trials", 0)) == (0, 0)
    for name in ("file descriptors", "threads", "tasks"):
        assert last.counts[name] <= first.counts[name] + SLACK, name
    assert last.counts.get("volumes", 0) <= 2 * WORKERS
    assert last.counts.get("containers", 0) == 2 * last.counts.get("volumes", 0)
    assert leaked(first, middle, last) == set()
    assert blocks_per_trial(first, middle, last) <= MOST_BLOCKS
    assert [closed.counts.get(name, 0) for name in ("containers", "volumes")] == [0, 0]
    assert first.counts["children"] == last.counts["children"] == closed.counts["children"] == before
    assert closed.counts["file descriptors"] <= first.counts["file descriptors"]


def test_an_object_of_each_trial_is_noticed() -> None:
    kind = "arci.run.result.TrialResult"
    counts = [
        Held("", {"blocks of memory": half * BETWEEN * MOST_BLOCKS}, {kind: 1000 + BETWEEN * half // 2})
        for half in range(3)
    ]
    assert leaked(*counts) == {kind}
    assert leaked(counts[0], counts[1], counts[1]) == set()
    assert blocks_per_trial(*counts) == 2 * MOST_BLOCKS
    assert blocks_per_trial(counts[0], counts[1], counts[1]) == 0
