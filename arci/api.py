"""What the commands call: steps put together, run in an event loop. Renders nothing, exits nowhere."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from arci.steps import (
    RUN_STEPS,
    SEAL_STEPS,
    SHARD_STEPS,
    Job,
    RunOptions,
    check,
    default_workers,
    gate_run,
    load,
    place,
    resolve_and_seal,
    run,
    through,
)

if TYPE_CHECKING:
    from arci.gate.decision import Decision
    from arci.run.endpoints import Examination
    from arci.run.result import TrialResult
    from arci.run.single import Tools
    from arci.run.witness import Witness
    from arci.store.run import StoredRun

__all__ = [
    "RUN_STEPS",
    "Job",
    "RunOptions",
    "check",
    "check_upstreams",
    "default_workers",
    "gate_run",
    "list_tools",
    "load",
    "merge_shards",
    "place",
    "resolve_and_seal",
    "run",
    "run_experiment",
    "seal_descriptor",
    "try_trial",
]

Loop = Callable[..., Any]


def run_experiment(job: Job, loop: Loop = anyio.run) -> Job:
    """All of `arci run`: the job with its run directory and decision (none for a shard), or one of `arci.errors`.

    `loop` runs the steps, as `anyio.run` does; the command line's heeds signals as well.
    """
    done: Job = loop(through, RUN_STEPS if job.options.shard is None else SHARD_STEPS, job)
    return done


def merge_shards(runs: Sequence[Path], out: Path) -> tuple[Decision, StoredRun, Path]:
    """All of `arci merge`: the decision over the whole run, the run, and its directory below `out`.

    UsageError or StoreError naming the store that does not fit.
    """
    from arci.store.merge import merge_runs

    directory = merge_runs(runs, out, run_id=str(uuid.uuid4()))
    return *gate_run(directory), directory


def seal_descriptor(job: Job, loop: Loop = anyio.run) -> Job:
    """All of `arci seal`."""
    sealed: Job = loop(through, SEAL_STEPS, job)
    return sealed


def try_trial(
    job: Job,
    *,
    arm: str = "candidate",
    condition: str | None = None,
    index: int = 0,
    witness: Witness | None = None,
    loop: Loop = anyio.run,
) -> TrialResult:
    """All of `arci try`: one planned trial (of the first condition unless named), made and not recorded, no verdict.

    `job.options`: `path`, `backend`, `n_per_arm` and `build_ca` count. The result's `record` (docs/reference/store.md,
    unsealed) and `events` are data, whatever the outcome; what is wrong with the descriptor or the place is one of
    `arci.errors`. `witness` sees guests' output and events as they come. `loop` runs the steps as `anyio.run` does.
    """

    async def step(job: Job) -> TrialResult:
        from arci.run.single import choose_trial, make_one

        sealed = await through(SEAL_STEPS, job)
        assert sealed.isolation is not None
        trial = choose_trial(sealed.manifest, arm=arm, condition=condition, index=index)
        return await make_one(sealed.manifest, sealed.isolation, trial, witness)

    made: TrialResult = loop(step, job)
    return made


def list_tools(job: Job, loop: Loop = anyio.run) -> Tools:
    """All of `arci tools`: the tools that an agent of the experiment sees, its servers, and what snapshots hide.

    Starts the boundary and the environment, no agent. SpecError where the environment does not stand.
    """

    async def step(job: Job) -> Tools:
        from arci.run.single import read_tools

        sealed = await through(SEAL_STEPS, job)
        assert sealed.isolation is not None
        return await read_tools(sealed.manifest, sealed.isolation)

    found: Tools = loop(step, job)
    return found


def check_upstreams(job: Job, *, allow_unlisted: bool = False, loop: Loop = anyio.run) -> Examination:
    """All of `arci preflight`: what the descriptor's (or manifest's) upstreams are asked before anything is paid for.

    Makes a few real calls, with the keys of this environment. `allow_unlisted`: a pinned model may be missing in the
    endpoint's own list. SpecError for a wrong descriptor; what is wrong outside is in the examination.
    """

    async def step(job: Job) -> Examination:
        from arci.run.endpoints import examine_endpoints

        loaded = await load(job)
        document = loaded.descriptor.document if loaded.descriptor is not None else loaded.document or {}
        return await examine_endpoints(
            document.get("models", []),
            document.get("decisions"),
            os.environ,
            where=str(job.options.path),
            allow_unlisted=allow_unlisted,
        )

    found: Examination = loop(step, job)
    return found
