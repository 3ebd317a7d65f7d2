"""`python -m bench.steady`: what `arci` holds after 50 trials of one run, at its end, and after it, side by side.

Containers and volumes of the run on the engine, and file descriptors, threads, tasks and memory of this process, each
counted at rest (`at_rest`). Writes `build/steady.json`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from arci.api import Job, RunOptions, check, default_workers, load, place, resolve_and_seal, run
from arci.isolation.docker.engine import Engine, connect
from bench.at_rest import RestingIsolation
from bench.held import Held, held, settled

__all__ = ["steady"]

EXAMPLE = Path(__file__).parents[1] / "examples" / "retry_agent" / "a-vs-b.yaml"
FIRST = 50
MOST_KINDS = 12
"""Kinds of objects whose growth is told."""


async def steady(backend: str, trials: int, workers: int, out: Path, first: int = FIRST) -> list[Held]:
    """What is held after `first` trials, halfway, before the last `workers`, after all, and when the run is closed.

    `first` <= `trials` - `workers`; `workers` at most `default_workers()`. RuntimeError for a trial that broke.
    """
    engine = await connect() if backend == "docker" else None
    found: list[Held] = []
    try:
        job = Job(RunOptions(EXAMPLE, backend, trials // 2, out, workers, force=True), run_id=str(uuid.uuid4()))
        for step in (load, place, resolve_and_seal, check):
            job = await step(job)
        assert job.isolation is not None
        look = partial(_look, engine, job.run_id, found)
        after = sorted({first, (first + trials) // 2, trials - workers})
        directory = await _recorded(replace(job, isolation=RestingIsolation(job.isolation, after, look)))
        del job
        await look("closed")
        _refuse_errors(directory)
    finally:
        if engine is not None:
            engine.close()
    return found


async def _look(engine: Engine | None, run_id: str, found: list[Held], label: str) -> None:
    if engine is not None:
        await settled(engine, run_id)
    found.append(await held(label, engine, run_id))


async def _recorded(job: Job) -> Path:
    """All trials, run and recorded; nothing but the directory is kept."""
    done = await run(job)
    assert done.directory is not None
    return done.directory


def _refuse_errors(directory: Path) -> None:
    for line in (directory / "trials.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        if record["outcome"] == "ERROR":
            raise RuntimeError(f"{record['trial_id']}: {record['detail']}")


def added(found: Sequence[Held]) -> dict[str, int]:
    """The objects that came with the trials between the first count and the last one with all workers waiting."""
    return found[-3].growth(found[0])


def table(found: Sequence[Held]) -> str:
    """For people: a column for each moment; below it, the kinds of which most were added."""
    width = max(len(name) for name in found[0].counts)
    lines = [f"{'after so many trials':{width}}" + "".join(f"{each.label:>12}" for each in found)]
    lines += [f"{name:{width}}" + "".join(f"{each.counts[name]:12,}" for each in found) for name in found[0].counts]
    grown = sorted(added(found).items(), key=lambda entry: -entry[1])[:MOST_KINDS]
    told = ", ".join(f"{count} {name}" for name, count in grown) or "none"
    return "\n".join([*lines, "", f"objects added from {found[0].label} to {found[-3].label} trials: {told}"])


def document(found: Sequence[Held], options: argparse.Namespace) -> dict[str, Any]:
    moments = [{"after": each.label, **each.counts} for each in found]
    return {
        "backend": options.backend,
        "trials": options.trials,
        "workers": options.workers,
        "moments": moments,
        "objects_added": added(found),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.steady", description=__doc__)
    parser.add_argument("--trials", type=int, default=1000, help="of both arms together")
    parser.add_argument("--workers", type=int, default=default_workers(), help=f"at most {default_workers()} here")
    parser.add_argument("--backend", choices=("docker", "process"), default="docker")
    parser.add_argument("--out", type=Path, default=Path("build/steady.json"))
    options = parser.parse_args()
    if not 1 <= options.workers <= default_workers():
        parser.error(f"--workers: {options.workers}; 1 to {default_workers()} is allowed.")
    if options.trials % 2 or options.trials - options.workers < FIRST:
        parser.error(f"--trials: {options.trials}; an even number from {FIRST + options.workers} on is allowed.")
    with tempfile.TemporaryDirectory() as directory:
        found = anyio.run(steady, options.backend, options.trials, options.workers, Path(directory))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document(found, options), indent=2, sort_keys=True)
    options.out.write_text(f"{text}\n", encoding="utf-8")
    print(f"{table(found)}\n\nwritten to {options.out}")


if __name__ == "__main__":
    main()
