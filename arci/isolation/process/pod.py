"""The guests of one trial as local processes below one private directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.to_thread

import arci
from arci.errors import EngineError
from arci.isolation.base import Guest, ProcessSpec, TrialPlan
from arci.isolation.process.archive import archive
from arci.isolation.process.directories import remove_tree
from arci.isolation.process.guest import ProcessGuest, UnstartedGuest, spawn
from arci.isolation.process.stragglers import kill_stragglers, newest_pid
from arci.model.manifest import Manifest
from arci.model.trial import Role

__all__ = ["ProcessPod"]

_LAUNCH = str(Path(arci.__file__).parent / "guest" / "launch.py")


class ProcessPod:
    """One pod. `init`: the `arci-init` that guests other than the boundary run under; None starts them directly."""

    def __init__(self, plan: TrialPlan, manifest: Manifest, directory: Path, init: Path | None) -> None:
        self.listen = self.dial = f"unix:{directory}/s"
        self._plan = plan
        self._manifest = manifest
        self._directory = directory
        self._init = init
        self._guests: list[ProcessGuest] = []
        self._rooms: set[Role] = set()
        self._first_pid = newest_pid()
        directory.mkdir(mode=0o700)

    def workdir(self, role: Role) -> str:
        return f"{self._room(role)}/work"

    def source(self, role: Role) -> str:
        manifest = self._manifest
        source = manifest.arms[self._plan.arm].source if role is Role.AGENT else manifest.project_source
        return os.path.normpath(Path(manifest.volatile.get("root", ".")).absolute() / source)

    def python(self, role: Role, guest: str, *args: str) -> tuple[str, ...]:
        return (sys.executable, "-I", "-S", _LAUNCH, guest, *args)

    async def start(self, role: Role, process: ProcessSpec) -> Guest:
        under_init = self._init is not None and role is not Role.BOUNDARY
        argv = self._under_init(process) if under_init else process.argv
        workdir = self.workdir(role)
        try:
            started = spawn(argv, self._environment(role, process), workdir)
        except (FileNotFoundError, NotADirectoryError) as error:
            return UnstartedGuest(127, f"{argv[0]}: {error.strerror}")
        except (PermissionError, ValueError) as error:
            return UnstartedGuest(126, f"{argv[0]}: {error}")
        except OSError as error:
            if error.strerror == "Exec format error":
                return UnstartedGuest(126, f"{argv[0]}: {error.strerror}")
            raise EngineError(f"start {role}", f"{argv[0]}: {error.strerror}") from error
        guest = _watched(started, role, under_init=under_init)
        self._guests.append(guest)
        _feed(guest, role, process, under_init=under_init)
        return guest

    def _under_init(self, process: ProcessSpec) -> tuple[str, ...]:
        status = () if process.status_token is None else ("--status", self.dial)
        return (str(self._init), "init", *status, "--", *process.argv)

    def _environment(self, role: Role, process: ProcessSpec) -> dict[str, str]:
        """Nothing of the host's but PATH: a variable of the user's must not change how an agent behaves."""
        room = self._room(role)
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "HOME": f"{room}/home",
            "TMPDIR": f"{room}/tmp",
            **process.env,
        }

    def _room(self, role: Role) -> str:
        """The role's private directory, made when it is first asked for."""
        room = f"{self._directory}/{role.value}"
        if role not in self._rooms:
            for path in (room, f"{room}/work", f"{room}/home", f"{room}/tmp"):
                os.mkdir(path, 0o700)  # noqa: PTH102  (on the path of every trial)
            self._rooms.add(role)
        return room

    async def get(self, role: Role, path: str, limit_bytes: int) -> bytes:
        return await anyio.to_thread.run_sync(archive, self.workdir(role), path, limit_bytes)

    async def close(self) -> None:
        """End every guest, then remove everything of the pod. EngineError if something stays."""
        async with anyio.create_task_group() as group:
            for guest in self._guests:
                group.start_soon(guest.stop, 0)
        await anyio.to_thread.run_sync(self._remove)

    def _remove(self) -> None:
        if self._guests:
            kill_stragglers(f"{self._directory}/", self._first_pid)
        remove_tree(self._directory)


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
    body = process.stdin or b""
    if under_init:
        status = process.status_token is not None
        guest.stdin.write(f"status {process.status_token}\n".encode() if status else b"feed %d\n" % len(body) + body)
    elif process.stdin is not None or role is not Role.BOUNDARY:
        guest.stdin.write(body)
        guest.stdin.close_when_written()
