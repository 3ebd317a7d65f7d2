"""The pod of the fake back end: its guests, what they share, and the addresses that they reach each other by."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

import anyio.abc
import anyio.lowlevel

from arci.errors import EngineError
from arci.isolation.base import Guest, ProcessSpec, TrialPlan
from arci.isolation.fake_guest import FakeFaults, FakeGuest, GuestPipes, PodBoard, Program
from arci.model.trial import Role

__all__ = ["SHIM", "FakePod", "Started", "shim_program"]

SHIM = "/arci/bin/arci-init"
_ADDRESS = "unix:/arci/socket"


@dataclass(frozen=True, slots=True)
class Started:
    """One guest that was started, for tests to look at."""

    plan: TrialPlan
    role: Role
    process: ProcessSpec


class _Script(Protocol):
    """What a pod asks of its back end."""

    started: list[Started]
    speed: float

    def faults_of(self, plan: TrialPlan, role: Role) -> FakeFaults: ...
    def program_of(self, plan: TrialPlan, role: Role, argv: tuple[str, ...]) -> Program: ...
    def living(self, run_id: str, what: str) -> AbstractAsyncContextManager[None]: ...


class FakePod:
    """See `arci.isolation.base.Pod`."""

    listen = dial = _ADDRESS

    def __init__(self, isolation: _Script, run_id: str, plan: TrialPlan, tasks: anyio.abc.TaskGroup) -> None:
        self.guests: dict[tuple[Role, str], FakeGuest] = {}  # role and, of the environment, server
        self.listen_http: str | None = "tcp:127.0.0.1:0"
        self.shim: str | None = SHIM
        self._isolation = isolation
        self._run_id = run_id
        self._plan = plan
        self._tasks = tasks
        self._board = PodBoard()

    def workdir(self, role: Role) -> str:
        return f"/arci/{role}/work"

    def scratch(self, role: Role) -> str:
        return f"/arci/{role}/tmp"

    def source(self, role: Role) -> str:
        return f"/arci/{role}/source"

    def python(self, role: Role, guest: str, *args: str) -> tuple[str, ...]:
        return ("python3", "-I", "-S", "/arci/guest/launch.py", guest, *args)

    async def start(self, role: Role, process: ProcessSpec) -> Guest:
        await anyio.lowlevel.checkpoint()
        if (role is Role.ENVIRONMENT) is (process.serve is None):
            raise EngineError(f"start {role}", "an environment guest is a server, and no other guest is one: `serve`")
        faults = self._isolation.faults_of(self._plan, role)
        if faults.start is not None:
            raise faults.start
        pipes = self._pipes(role, process)
        guest = FakeGuest(pipes, self._isolation.program_of(self._plan, role, process.argv), faults)
        self._isolation.started.append(Started(self._plan, role, process))
        self.guests[role, pipes.server] = guest
        self._board.processes[role] = process
        self._tasks.start_soon(self._live, guest, role)
        self._board.flag(f"{role} started").set()
        return guest

    async def _live(self, guest: FakeGuest, role: Role) -> None:
        async with self._isolation.living(self._run_id, f"{role} of {self._plan.trial_id}"):
            hello = _hello(guest.pipes.process)
            tell = None if hello is None else self._board.listeners.get(self.dial)
            if hello is not None and tell is not None:
                _connected(guest.pipes, hello, tell)
            await guest.run()
            if hello is not None and tell is not None:
                tell(f"{_how_it_ended(guest.pipes, self._board)}closed {hello}\n")
        if role is Role.BOUNDARY:
            await self._lose_connections()

    async def _lose_connections(self) -> None:
        """The boundary is gone, and with it the connections to `arci-init`, which then ends its guest."""
        for guest in list(self.guests.values()):
            if _hello(guest.pipes.process) is not None:
                await guest.end(0)

    def _pipes(self, role: Role, process: ProcessSpec) -> GuestPipes:
        workdir = self.workdir(role) if process.serve is None else f"{self.workdir(role)}/{process.serve[0]}"
        places = {"HOME": workdir, "TMPDIR": self.scratch(role), "PATH": "/usr/bin:/bin"}
        environment = {**places, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **process.env}
        speed = self._isolation.speed
        pipes = GuestPipes(self._plan, role, process, self._board, workdir, environment, speed=speed)
        pipes.files.update(process.files)
        if process.stdin is not None:
            pipes.feed(process.stdin)
        if process.stdin is not None or role not in (Role.BOUNDARY, Role.ENVIRONMENT):
            pipes.close_stdin()
        return pipes

    async def get(self, role: Role, path: str, limit_bytes: int) -> bytes:
        faults = self._isolation.faults_of(self._plan, role)
        if faults.get is not None:
            raise faults.get
        # The boundary and the servers see the environment's directory at the same path.
        writers = (role, Role.BOUNDARY) if role is Role.ENVIRONMENT else (role,)
        files: dict[str, bytes | str] = {}
        for (writer, _), guest in self.guests.items():
            files |= guest.pipes.files if writer in writers else {}
        return _archive(files, self.workdir(role), path, limit_bytes)


def _hello(process: ProcessSpec) -> str | None:
    """How `arci-init` begins its connection to the boundary; None where it makes none."""
    if process.serve is not None:
        name, token = process.serve
        return f"ARCI environment {token} {name}"
    return None if process.status_token is None else f"ARCI status {process.status_token}"


def _connected(pipes: GuestPipes, hello: str, tell: Callable[[str], None]) -> None:
    """What a `Listen` prints of a new connection, and what comes back on it: the hello, as from a real one."""
    tell(f"open {hello}\n")
    if pipes.process.serve is None:
        tell("heard started\n")
        return
    rest = b""

    def hear(data: bytes) -> None:
        nonlocal rest
        *lines, rest = (rest + data).split(b"\n")
        tell("".join(f"heard {line.decode()}\n" for line in lines))

    pipes.stdout = hear
    pipes.feed(f"{hello}\n".encode())
    if pipes.board.half_closes:
        pipes.close_stdin()


def _how_it_ended(pipes: GuestPipes, board: PodBoard) -> str:
    if pipes.process.serve is not None:
        return ""
    end = board.ends[pipes.role]
    return f"heard ended {f'exit {end.code}' if end.signal is None else f'signal {end.signal}'} oom=0\n"


def shim_program(argv: tuple[str, ...]) -> Program:
    """`arci-init stdio ADDRESS TOKEN [SERVER]` towards a `Listen`."""

    async def program(pipes: GuestPipes) -> int:
        _, _, address, *rest = argv
        tell = pipes.board.listeners.get(address)
        if tell is None:
            return 69
        hello = " ".join(("ARCI mcp", *rest))
        tell(f"open {hello}\n")
        pipes.write(f"{hello}\n".encode())
        while line := await pipes.read_line():
            tell(f"heard {line.decode().rstrip()}\n")
        tell(f"closed {hello}\n")
        return 0

    return program


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
