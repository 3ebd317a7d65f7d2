"""Checks: nothing of a run is left, however it ends."""

from __future__ import annotations

import pickle
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import anyio.abc

from arci.isolation.base import Pod, RunPlan
from arci.isolation.conformance.bench import PATIENCE_S, Bench, ConformanceFailure, require
from arci.isolation.conformance.check import Check, check
from arci.isolation.script import OnTerm, Print, Script, Sleep, Spawn, WaitFor, WriteFile
from arci.model.trial import Role

__all__ = ["CHECKS", "STUBBORN"]

STUBBORN: Script = (
    Spawn((OnTerm(()), WriteFile("detached", b""), Sleep(600)), detached=True),
    OnTerm(()),
    WaitFor("detached"),
    Print(b"up\n"),
    Sleep(600),
)
"""A guest that ignores SIGTERM and has a detached child that does too."""


def _fresh(bench: Bench) -> RunPlan:
    return replace(bench.run, run_id=str(uuid.uuid4()))


async def _start_stubborn(bench: Bench, pod: Pod) -> None:
    await bench.keep_boundary(pod)
    for role in (Role.AGENT, Role.GRADER):
        async with bench.watching(pod, role, STUBBORN) as guest:
            await guest.until(b"up\n")


async def _running(bench: Bench, run: RunPlan) -> None:
    """The run is seen while it runs; else its absence afterwards would show nothing."""
    require(bool((await bench.isolation.remains(run.run_id)).running), "remains() does not see a run that is running")


async def _nothing_left(bench: Bench, run: RunPlan) -> None:
    left = await bench.isolation.remains(run.run_id)
    require(not left.everything, f"left of the run: {', '.join(left.everything)}")


@check("leaving a pod and its run while guests still run ends them and leaves nothing")
async def leaving_ends_everything(bench: Bench) -> None:
    run = _fresh(bench)
    async with bench.isolation.open(run) as slots, replace(bench, slots=slots).pod() as pod:
        await _start_stubborn(bench, pod)
        await _running(bench, run)
    await _nothing_left(bench, run)


class _Mishap(Exception):
    """Raised by a check to see it come out."""


@check("an error within a pod comes out unchanged and leaves nothing")
async def error_leaves_nothing(bench: Bench) -> None:
    run = _fresh(bench)
    try:
        async with bench.isolation.open(run) as slots, replace(bench, slots=slots).pod() as pod:
            await _start_stubborn(bench, pod)
            raise _Mishap
    except _Mishap:
        await _nothing_left(bench, run)
    else:
        raise ConformanceFailure("the error within the pod was swallowed")


@check("cancellation leaves nothing")
async def cancellation_leaves_nothing(bench: Bench) -> None:
    run = _fresh(bench)
    with anyio.CancelScope() as scope:
        async with bench.isolation.open(run) as slots, replace(bench, slots=slots).pod() as pod:
            await _start_stubborn(bench, pod)
            await _running(bench, run)
            scope.cancel()
            await anyio.sleep_forever()
    require(scope.cancelled_caught, "the cancellation was swallowed")
    await _nothing_left(bench, run)


@check("a run without a single pod leaves nothing")
async def empty_run_leaves_nothing(bench: Bench) -> None:
    run = _fresh(bench)
    async with bench.isolation.open(run):
        pass
    await _nothing_left(bench, run)


@asynccontextmanager
async def _owned(bench: Bench, run: RunPlan) -> AsyncIterator[anyio.abc.Process]:
    """The run in a process of its own, with stubborn guests running."""
    if bench.owner is None:
        raise ConformanceFailure("no way was given to make this back end in another process (`owner`)")
    argv = [sys.executable, "-m", "arci.isolation.conformance.owner", bench.owner, bench.python]
    async with await anyio.open_process(argv, stderr=None) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        try:
            await owner.stdin.send(pickle.dumps(run))
            await owner.stdin.aclose()
            with anyio.fail_after(3 * PATIENCE_S):
                require(await owner.stdout.receive() == b"up\n", "the owner did not come up")
            yield owner
        finally:
            if owner.returncode is None:
                owner.kill()


async def _killed(bench: Bench, run: RunPlan) -> None:
    """Start the run's owner, kill it with SIGKILL, and wait until nothing of the run runs."""
    async with _owned(bench, run) as owner:
        await _running(bench, run)
        owner.send_signal(signal.SIGKILL)
        await owner.wait()
        with anyio.move_on_after(PATIENCE_S):
            while (await bench.isolation.remains(run.run_id)).running:  # noqa: ASYNC110  (nothing tells us)
                await anyio.sleep(0.02)
    left = await bench.isolation.remains(run.run_id)
    require(not left.running, f"its owner is dead, still running: {', '.join(left.running)}")


@check("everything stops when the owner is killed (N1)")
async def owner_killed(bench: Bench) -> None:
    run = _fresh(bench)
    await _killed(bench, run)


@check("what a killed owner left is swept by the next run, and what is alive is not (N1, N10)")
async def dead_runs_are_swept(bench: Bench) -> None:
    dead, alive, later = _fresh(bench), _fresh(bench), _fresh(bench)
    async with bench.isolation.open(alive) as slots, replace(bench, slots=slots).pod() as pod:
        await _start_stubborn(bench, pod)
        await _killed(bench, dead)
        async with bench.isolation.open(later):
            await _nothing_left(bench, dead)
            await _running(bench, alive)


CHECKS: tuple[Check, ...] = (
    leaving_ends_everything,
    error_leaves_nothing,
    cancellation_leaves_nothing,
    empty_run_leaves_nothing,
    owner_killed,
    dead_runs_are_swept,
)
