"""The guests of one trial as local processes below one private directory."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

import arci
from arci.errors import EngineError
from arci.isolation.base import Guest, ProcessSpec, TrialPlan
from arci.isolation.groups import task_group
from arci.isolation.header import init_header
from arci.isolation.process.archive import archive
from arci.isolation.process.directories import remove_tree
from arci.isolation.process.given import lay_down
from arci.isolation.process.guest import ProcessGuest, UnstartedGuest, spawn
from arci.isolation.process.stragglers import kill_stragglers, newest_pid
from arci.model.manifest import Manifest
from arci.model.trial import Role

__all__ = ["ProcessPod"]

_PROGRAM_ERRORS = {
    errno.ENOENT: 127,
    errno.ENOTDIR: 127,
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.ENOEXEC, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG), 126),
}
"""What exec says of a program that cannot be one -> the exit code a shell would give."""
_LAUNCH = str(Path(arci.__file__).parent / "guest" / "launch.py")


class ProcessPod:
    """One pod. `init`: the `arci-init` that guests other than the boundary run under; None starts them directly."""

    def __init__(self, plan: TrialPlan, manifest: Manifest, directory: Path, init: Path | None) -> None:
        self.listen = self.dial = f"unix:{directory}/s"
        self.listen_http: str | None = "tcp:127.0.0.1:0"
        self.shim: str | None = None if init is None else str(init)
        self._plan = plan
        self._manifest = manifest
        self._directory = directory
        self._init = init
        self._guests: list[ProcessGuest] = []
        self._names: set[str] = set()
        self._first_pid = newest_pid()
        directory.mkdir(mode=0o700)

    def workdir(self, role: Role) -> str:
        return self._made(role.value)

    def scratch(self, role: Role) -> str:
        return self._made(f"{role}-tmp")

    def source(self, role: Role) -> str:
        manifest = self._manifest
        source = manifest.arms[self._plan.arm].source if role is Role.AGENT else manifest.project_source
        return os.path.normpath(Path(manifest.volatile.get("root", ".")).absolute() / source)

    def python(self, role: Role, guest: str, *args: str) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", _LAUNCH, guest, *args)

    async def start(self, role: Role, process: ProcessSpec) -> Guest:
        under_init = self._init is not None and role is not Role.BOUNDARY
        self._refuse(role, process)
        lay_down(role, process)
        home = self._home(role, process)
        argv = self._under_init(process) if under_init else process.argv
        try:
            started = spawn(argv, self._environment(role, process, home), self._start_directory(role, home))
        except OSError as error:
            return _unstarted(role, argv[0], error, ours=under_init)
        except ValueError as error:  # a NUL in an argument or a variable
            return UnstartedGuest(126, f"{argv[0]}: {error}")
        guest = _watched(started, role, under_init=under_init)
        self._guests.append(guest)
        _feed(guest, role, process, under_init=under_init)
        return guest

    def _refuse(self, role: Role, process: ProcessSpec) -> None:
        trouble = None
        if not process.argv:
            trouble = "no argv is given, and process isolation has no image with one"
        elif (role is Role.ENVIRONMENT) is (process.serve is None):
            trouble = "an environment guest is a server, and no other guest is one: `serve`"
        elif process.serve is not None and self._init is None:
            trouble = "arci-init, which connects a server to its recorder, does not run on this machine"
        if trouble is not None:
            raise EngineError(f"start {role}", trouble)

    def _home(self, role: Role, process: ProcessSpec) -> str:
        """The guest's own working directory; of a server, the one of its name."""
        workdir = self.workdir(role)
        return workdir if process.serve is None else self._made(f"{role}/{process.serve[0]}")

    def _start_directory(self, role: Role, home: str) -> str:
        """World and oracle start where their code lies, as in an image; an agent in its private workdir, so that what
        it writes does not land in a source tree."""
        source = self.source(role)
        return source if role in (Role.BOUNDARY, Role.GRADER) and Path(source).is_dir() else home

    def _under_init(self, process: ProcessSpec) -> tuple[str, ...]:
        told: tuple[str, ...] = ()
        if process.serve is not None:
            told = ("--serve", self.dial)
        elif process.status_token is not None:
            told = ("--status", self.dial)
        return (str(self._init), "init", *told, "--", *process.argv)

    def _environment(self, role: Role, process: ProcessSpec, home: str) -> dict[str, str]:
        """Nothing of the host's but PATH: a variable of the user's must not change how an agent behaves."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "HOME": home,
            "TMPDIR": self.scratch(role) if role in (Role.AGENT, Role.ENVIRONMENT) else home,
            **process.env,
        }

    def _made(self, name: str) -> str:
        """A private directory of the pod, made when it is first asked for (each costs a trial 0.2 ms)."""
        path = f"{self._directory}/{name}"
        if name not in self._names:
            with contextlib.suppress(FileExistsError):  # a guest was given something in it
                os.mkdir(path, 0o700)  # noqa: PTH102  (on the path of every trial)
            self._names.add(name)
        return path

    async def get(self, role: Role, path: str, limit_bytes: int) -> bytes:
        return await anyio.to_thread.run_sync(archive, self.workdir(role), path, limit_bytes)

    async def close(self) -> None:
        """End every guest, then remove everything of the pod. EngineError if something stays."""
        try:
            async with task_group() as group:
                for guest in self._guests:
                    group.start_soon(guest.stop, 0)
        finally:
            await anyio.to_thread.run_sync(self._remove)

    def _remove(self) -> None:
        if self._guests:
            kill_stragglers(f"{self._directory}/", self._first_pid)
        remove_tree(self._directory)


def _unstarted(role: Role, program: str, error: OSError, *, ours: bool) -> Guest:
    """The guest's own fault as data, with the codes of a shell; EngineError where we or the machine failed."""
    code = _PROGRAM_ERRORS.get(error.errno or 0)
    if ours or code is None or error.filename != program:
        raise EngineError(f"start {role}", f"{error.filename or program}: {error.strerror}") from error
    return UnstartedGuest(code, f"{program}: {error.strerror}")


def _watched(process: subprocess.Popen[bytes], role: Role, *, under_init: bool) -> ProcessGuest:
    try:
        return ProcessGuest(process, under_init=under_init)
    except OSError as error:  # no descriptors left
        process.kill()
        process.wait()
        raise EngineError(f"start {role}", f"its streams cannot be watched: {error.strerror}") from error


def _feed(guest: ProcessGuest, role: Role, process: ProcessSpec, *, under_init: bool) -> None:
    """The whole stdin where it is given beforehand, behind the header that arci-init reads first.

    Only a boundary's stdin stays open for more; every other guest reads what it was given, then the end of file.
    """
    if under_init:
        guest.stdin.write(init_header(replace(process, files={}, directories=())))  # these were written already
    elif process.stdin is not None or role is not Role.BOUNDARY:
        guest.stdin.write(process.stdin or b"")
        guest.stdin.close_when_written()
