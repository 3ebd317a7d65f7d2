"""What `arci` holds, and has on an engine, does not grow with the trials of a run; nothing is left after it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.held import Held

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(600)

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


PROGRAM = """
import json, sys
from pathlib import Path
import anyio
from bench.steady import steady
backend, trials, workers, out, first = sys.argv[1:]
found = anyio.run(steady, backend, int(trials), int(workers), Path(out), int(first))
print(json.dumps([{"label": held.label, "counts": dict(held.counts), "objects": dict(held.objects)} for held in found]))
"""


def held_by_a_process_of_its_own(backend: str, out: Path) -> list[Held]:
    """What else a session of tests has loaded, started and left open is not counted."""
    numbers = map(str, (TRIALS, WORKERS, out, FIRST))
    command = [sys.executable, "-c", PROGRAM, backend, *numbers]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return [Held(**held) for held in json.loads(ended.stdout.splitlines()[-1])]


@pytest.mark.parametrize("backend", ["process", "docker"])
def test_sixty_trials_leave_no_more_behind_than_twenty(backend: str, tmp_path: Path) -> None:
    first, middle, last, after_all, closed = held_by_a_process_of_its_own(backend, tmp_path)
    assert [first.label, last.label, after_all.label] == [f"{FIRST}", f"{TRIALS - WORKERS}", f"all {TRIALS}"]
    for name in ("children", "containers of trials"):
        assert (first.counts.get(name, 0), last.counts.get(name, 0)) == (0, 0), name
    for name in ("file descriptors", "threads", "tasks"):
        assert last.counts[name] <= first.counts[name] + SLACK, name
    assert last.counts.get("volumes", 0) <= 2 * WORKERS
    assert last.counts.get("containers", 0) == 2 * last.counts.get("volumes", 0)
    assert leaked(first, middle, last) == set()
    assert blocks_per_trial(first, middle, last) <= MOST_BLOCKS
    assert [closed.counts.get(name, 0) for name in ("children", "containers", "volumes")] == [0, 0, 0]
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
