"""The scripted back end: guests are functions or scripts in this event loop. For tests, in milliseconds.

It keeps the same contract as the real ones (the conformance checks run on it) and can break on request.
"""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import anyio
import anyio.abc
import anyio.lowlevel

from arci.isolation.base import Capability, Findings, Guest, Pod, ProcessSpec, RunPlan, Slots, TrialPlan
from arci.isolation.fake_guest import FakeFaults, FakeGuest, GuestEnded, GuestPipes, PodBoard, Program
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


@dataclass(frozen=True, slots=True)
class Started:
    """One guest that was started, for tests to look at."""

    plan: TrialPlan
    role: Role
    process: ProcessSpec


class FakeIsolation:
    """`script` says what each guest does; without it, guests are what `script.render` made, and nothing else runs.

    `faults` says what breaks for which guest. `speed` is how many seconds of a guest's sleeps and of the timeouts of
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
            pod = _FakePod(self._isolation, self._run.run_id, plan, tasks)
            try:
                yield pod
            finally:
                for guest in pod.guests.values():
                    await guest.end(0)

    def pod(self, plan: TrialPlan) -> AbstractAsyncContextManager[Pod]:
        return self._pod(plan)


class _FakePod:
    listen = dial = "unix:/arci/socket"

    def __init__(self, isolation: FakeIsolation, run_id: str, plan: TrialPlan, tasks: anyio.abc.TaskGroup) -> None:
        self.guests: dict[Role, FakeGuest] = {}
        self._isolation = isolation
        self._run_id = run_id
        self._plan = plan
        self._tasks = tasks
        self._board = PodBoard()

    def workdir(self, role: Role) -> str:
        return f"/arci/{role}/work"

    def source(self, role: Role) -> str:
        return f"/arci/{role}/source"

    def python(self, role: Role, guest: str, *args: str) -> tuple[str, ...]:
        return ("python3", "-I", "-S", "/arci/guest/launch.py", guest, *args)

    async def start(self, role: Role, process: ProcessSpec) -> Guest:
        await anyio.lowlevel.checkpoint()
        faults = self._isolation.faults_of(self._plan, role)
        if faults.start is not None:
            raise faults.start
        pipes = self._pipes(role, process)
        guest = FakeGuest(pipes, self._isolation.program_of(self._plan, role, process.argv), faults)
        self._isolation.started.append(Started(self._plan, role, process))
        self.guests[role] = guest
        self._board.processes[role] = process
        self._tasks.start_soon(self._live, guest, role)
        self._board.flag(f"{role} started").set()
        return guest

    async def _live(self, guest: FakeGuest, role: Role) -> None:
        async with self._isolation.living(self._run_id, f"{role} of {self._plan.trial_id}"):
            token = guest.pipes.process.status_token
            tell = self._board.listeners.get(self.dial) if token is not None else None
            if tell is not None:
                tell(f"open ARCI status {token}\nheard started\n")
            await guest.run()
            if tell is not None:
                end = self._board.ends[role]
                how = f"exit {end.code}" if end.signal is None else f"signal {end.signal}"
                tell(f"heard ended {how} oom=0\nclosed ARCI status {token}\n")
        if role is Role.BOUNDARY:
            await self._lose_status()

    async def _lose_status(self) -> None:
        """The boundary is gone, and with it the status connections: `arci-init` then ends its guest."""
        for guest in list(self.guests.values()):
            if guest.pipes.process.status_token is not None:
                await guest.end(0)

    def _pipes(self, role: Role, process: ProcessSpec) -> GuestPipes:
        places = {"HOME": self.workdir(role), "TMPDIR": f"/arci/{role}/tmp", "PATH": "/usr/bin:/bin"}
        environment = {**places, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **process.env}
        workdir, speed = self.workdir(role), self._isolation.speed
        pipes = GuestPipes(self._plan, role, process, self._board, workdir, environment, speed=speed)
        if process.stdin is not None:
            pipes.feed(process.stdin)
        if process.stdin is not None or role is not Role.BOUNDARY:
            pipes.close_stdin()
        return pipes

    async def get(self, role: Role, path: str, limit_bytes: int) -> bytes:
        faults = self._isolation.faults_of(self._plan, role)
        if faults.get is not None:
            raise faults.get
        files = self.guests[role].pipes.files if role in self.guests else {}
        return _archive(files, self.workdir(role), path, limit_bytes)


def _archive(files: Mapping[str, bytes | str], workdir: str, path: str, limit_bytes: int) -> bytes:
    """As a real back end's: members named from the last part of `path` on, links as links."""
    whole = posixpath.normpath(posixpath.join(workdir, path))
    chosen = {name: content for name, content in files.items() if f"{name}/".startswith(f"{whole}/")}
    if not chosen or not f"{whole}/".startswith(f"{workdir}/"):
        raise FileNotFoundError(f"{path}: no such path in the working directory")
    start = workdir if whole == workdir else posixpath.dirname(whole)
    buffer = io.BytesIO()
    with tarfile.TarFile(fileobj=buffer, mode="w") as tar:
        for name, content in sorted(chosen.items()):
            member = tarfile.TarInfo(posixpath.relpath(name, start))
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            if buffer.tell() > limit_bytes:
                raise ValueError(f"{path}: the archive is larger than {limit_bytes} bytes")
    return buffer.getvalue()
