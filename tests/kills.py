"""A run that is killed again and again at seeded moments and resumed each time, beside one that is not. For tests."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import Any

from e2e import arci, info, records
from halting import start_halting

__all__ = ["disturbed", "the_same"]


def disturbed(
    sealed: Path, out: Path, undisturbed: Path, *, kills: int, seed: int, workers: int = 3
) -> tuple[Path, list[int]]:
    """The run of a sealed manifest, completed after `kills` SIGKILLs; how many records there were at each of them.

    A moment is a size of the event log, one drawn from each of `kills` equal parts of nearly what it is in the end
    (`undisturbed`: such a run): kills fall anywhere before, within and between the writes of a trial.
    """
    document = json.loads(sealed.read_bytes())
    run, seen = out / document["experiment_id"], []
    draw, share = random.Random(seed), _size(undisturbed) * 85 // 100 // kills
    moments = [number * share + draw.randrange(share) for number in range(kills)]
    argv = ("run", sealed, "--out", out, "--workers", workers)
    for number, moment in enumerate(moments):
        _run_until(run, moment, *argv, *(("--resume",) if number else ()))
        seen.append(len(records(run)))
        assert info(run)["state"] == "running"
    ended = arci(*argv, "--resume")
    assert ended.exit_code in (0, 1, 2), ended.stderr
    return run, seen


def the_same(decision: dict[str, Any]) -> dict[str, Any]:
    """What of a decision two runs of the same trials share: all but times, which the records' digest covers, and how
    often a start was interrupted."""
    conditions = [{**condition, "interrupted": None} for condition in decision["conditions"]]
    return {**decision, "trials_sha256": None, "conditions": conditions}


def _size(run: Path) -> int:
    path = run / "events.jsonl"
    return path.stat().st_size if path.exists() else 0


def _run_until(run: Path, moment: int, *args: object) -> None:
    """`arci ARGS`, killed once the event log has that size, and has grown at all. Nothing of it gets to run again."""
    wanted = max(moment, _size(run) + 1)
    process = start_halting(run / "events.jsonl", "", wanted, signal.SIGKILL, *args)
    try:
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGKILL, f"it ended before it could be killed: {errors}"
