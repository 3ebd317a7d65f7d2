"""The scripted back end: guests are functions or scripts in this event loop. For tests, in milliseconds.

It keeps the same contract as the real ones (the conformance checks run on it) and can break on request.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TypeAlias

import anyio

from arci.isolation.base import Capability, Findings, Pod, RunPlan, Slots, TrialPlan
from arci.isolation.fake_guest import FakeFaults, GuestEnded, GuestPipes, Program
from arci.isolation.fake_pod import SHIM, FakePod, Started, shim_program
from arci.isolation.fake_script import program_of
from arci.isolation.fake_trial import ScriptedTrial
from arci.isolation.groups import task_group
from arci.isolation.remains import Remains
from arci.isolation.script import Script, rendered
from arci.model.trial import Role

__all__ = [
    "FakeFaults",
    "FakeIsolation",
    "GuestEnded",
    "GuestPipes",
    "Program",
    "ScriptFor",
    "ScriptedTrial",
    "Started",
]

ScriptFor: TypeAlias = Callable[[TrialPlan, Role], Script | Program]
FaultsFor: TypeAlias = Callable[[TrialPlan, Role], FakeFaults]


class FakeIsolation:
    """`script` says what each guest does; without it, guests are what `script.render` made, and nothing else runs.

    `faults` says what breaks for which guest (the servers of an environment are of one role: `GuestPipes.server` tells
    them apart). `speed` is how many seconds of a guest's sleeps and of the timeouts of
    `wait` and `stop` pass in one real second. `started` lists every guest in order of its start.
    """

    def __init__(
        self,
        script: ScriptFor | None = None,
        *,
        faults: FaultsFor | None = None,
        capabilities: frozenset[Capability] = frozenset(),
        findings: Findings | None = None,
        speed: float = 1.0,
    ) -> None:
        self.capabilities = capabilities
        self.started: list[Started] = []
        self.speed = speed
        self._script = script
        self._faults = faults
        self._findings = findings or Findings(warnings=("the fake back end runs nothing: for tests alone",))
        self._live: list[tuple[str, str]] = []

    @asynccontextmanager
    async def _open(self, run: RunPlan) -> AsyncIterator[Slots]:
        entry = (run.run_id, "slots")
        self._live.append(entry)
        try:
            yield _FakeSlots(self, run)
        finally:
            self._live.remove(entry)

    def open(self, run: RunPlan) -> AbstractAsyncContextManager[Slots]:
        return self._open(run)

    async def check(self, run: RunPlan) -> Findings:
        return self._findings

    async def remains(self, run_id: str) -> Remains:
        """What is open of a run in this object."""
        here = [what for run, what in self._live if run == run_id]
        return Remains(tuple(w for w in here if w != "slots"), tuple(w for w in here if w == "slots"))

    def faults_of(self, plan: TrialPlan, role: Role) -> FakeFaults:
        return FakeFaults() if self._faults is None else self._faults(plan, role)

    def program_of(self, plan: TrialPlan, role: Role, argv: tuple[str, ...]) -> Program:
        """What a guest that is started with `argv` does."""
        if argv[:1] == (SHIM,):
            return shim_program(argv)
        script = rendered(argv)
        if script is None and self._script is not None:
            found = self._script(plan, role)
            if not isinstance(found, tuple):
                return found
            script = found
        return program_of(script) if script is not None else _cannot_execute(argv)

    @asynccontextmanager
    async def living(self, run_id: str, what: str) -> AsyncIterator[None]:
        """What `remains` tells of while it lasts."""
        self._live.append((run_id, what))
        try:
            yield
        finally:
            self._live.remove((run_id, what))


def _cannot_execute(argv: tuple[str, ...]) -> Program:
    """As arci-init does: 126 for a file that is no program, 127 for one that is not there."""

    async def program(pipes: GuestPipes) -> int:
        pipes.write(f"cannot execute {argv[0] if argv else ''}\n".encode(), "stderr")
        return 126 if argv and argv[0].startswith("/etc/") else 127

    return program


class _FakeSlots:
    def __init__(self, isolation: FakeIsolation, run: RunPlan) -> None:
        self._isolation = isolation
        self._run = run
        self._free = anyio.Semaphore(run.workers)

    @asynccontextmanager
    async def _pod(self, plan: TrialPlan) -> AsyncIterator[Pod]:
        async with self._free, task_group() as tasks:
            pod = FakePod(self._isolation, self._run.run_id, plan, tasks)
            try:
                yield pod
            finally:
                for guest in pod.guests.values():
                    await guest.end(0)

    def pod(self, plan: TrialPlan) -> AbstractAsyncContextManager[Pod]:
        return self._pod(plan)
