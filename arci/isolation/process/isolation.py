"""Process isolation as a back end: the embedded default, which needs no engine and isolates nothing."""

from __future__ import annotations

import itertools
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from arci.errors import EngineError
from arci.isolation.base import Capability, Findings, Pod, RunPlan, Slots, TrialPlan
from arci.isolation.process.directories import RunDirectory, choose_base, run_directories, run_prefixes, sweep
from arci.isolation.process.native import find_init
from arci.isolation.process.pod import ProcessPod
from arci.isolation.process.stragglers import stragglers
from arci.isolation.remains import Remains

__all__ = ["NOTHING_ISOLATED", "NO_INIT", "ProcessIsolation"]

NOTHING_ISOLATED = (
    "process isolation isolates nothing: the agent can read your files, the oracle and the world's state, use the "
    "network and outlast its limits. Use --isolation docker for anything that you do not trust."
)
NO_INIT = (
    "arci-init does not run on this machine: agents are started directly, so a process that detaches from its agent "
    "may outlive it, and how an agent's process started is not reported"
)


class _ProcessSlots:
    def __init__(self, run: RunPlan, directory: RunDirectory) -> None:
        self._run = run
        self._directory = directory
        self._free = anyio.Semaphore(run.workers)
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def _pod(self, plan: TrialPlan) -> AsyncIterator[Pod]:
        async with self._free:
            path = self._directory.path / f"pod-{next(self._numbers)}"
            try:
                pod = ProcessPod(plan, self._run.manifest, path, find_init())
            except OSError as error:
                raise EngineError("pod", f"{path}: {error.strerror}") from error
            try:
                yield pod
            finally:
                with anyio.CancelScope(shield=True):
                    await pod.close()

    def pod(self, plan: TrialPlan) -> AbstractAsyncContextManager[Pod]:
        return self._pod(plan)


class ProcessIsolation:
    """Guests as local processes. See `arci.isolation.base` for the contract."""

    capabilities: frozenset[Capability] = frozenset()

    @asynccontextmanager
    async def _open(self, run: RunPlan) -> AsyncIterator[Slots]:
        _keep_exit_codes()
        try:
            sweep()
            directory = RunDirectory.make(run.run_id)
        except OSError as error:
            raise EngineError("open", f"private directory: {error}") from error
        try:
            yield _ProcessSlots(run, directory)
        finally:
            directory.remove()

    def open(self, run: RunPlan) -> AbstractAsyncContextManager[Slots]:
        return self._open(run)

    async def check(self, run: RunPlan) -> Findings:
        init = find_init()
        facts = {"backend": "process", "python": sys.executable, "init": None if init is None else str(init)}
        warnings = [NOTHING_ISOLATED] if init is not None else [NOTHING_ISOLATED, NO_INIT]
        try:
            facts["directory"] = str(choose_base())
        except EngineError as error:
            return Findings((str(error),), tuple(warnings), facts)
        return Findings((), tuple(warnings), facts)

    async def remains(self, run_id: str) -> Remains:
        """What there still is of a run on this machine."""
        running = tuple(f"process {pid}" for prefix in run_prefixes(run_id) for pid in stragglers(prefix))
        return Remains(running, tuple(f"directory {path}" for path in run_directories(run_id)))


def _keep_exit_codes() -> None:
    """Some supervisors start their children with SIGCHLD ignored; then every exit code is lost and reads as 0."""
    if signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN:
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    except ValueError as error:  # not the main thread
        raise EngineError("open", "SIGCHLD is ignored in this process, so exit codes would be lost") from error
