"""The contract of a back end: what the trial runner may ask of the place where guests run. Pure declarations.

Which error means what: what a guest does (exit codes, signals, output, death) is *data* and comes back as `Exit` or
`Chunk`; what the engine or the machine fails to do is an exception, `arci.errors.EngineError`. No method raises
anything else but cancellation. `conformance` holds this contract as runnable checks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from arci.model.manifest import Manifest
from arci.model.trial import Role

__all__ = [
    "Capability",
    "Chunk",
    "Exit",
    "Findings",
    "Guest",
    "Isolation",
    "Pod",
    "ProcessSpec",
    "RunPlan",
    "Slots",
    "TrialPlan",
]


class Capability(StrEnum):
    """What a back end really enforces; the runner says plainly what is missing."""

    ISOLATES_FILES = "isolates_files"
    ISOLATES_NETWORK = "isolates_network"
    LIMITS_MEMORY = "limits_memory"
    LIMITS_PIDS = "limits_pids"
    LIMITS_DISK = "limits_disk"
    IMAGES = "images"
    SEPARATE_UID = "separate_uid"


@dataclass(frozen=True, slots=True)
class Findings:
    """What `check` found before trial 1. `problems` refuse the run; `warnings` are shown and kept in `run.json`."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Engine name, version, endpoint and why it was chosen, as far as there are any."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What holds for all trials of a run."""

    run_id: str
    """UUID; every object made for the run is labelled with it."""
    manifest: Manifest
    workers: int
    """Trials under way at once, >= 1."""


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """What a pod must know before any of its guests starts."""

    trial_id: str
    arm: str
    attempt: int
    """1-based."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One guest process.

    `argv` empty means the image's ENTRYPOINT + CMD (docker, agent role). `env` is added to the image's (docker) or to
    a clean environment (process); nothing of the host's leaks in. `stdin`: None keeps it open for `Guest.send`; bytes
    are delivered whole, then the process sees end of file. `status_token` (agent role): `arci-init` connects to the
    boundary, says `ARCI status <token>` and reports there; without it, nothing is reported. `serve` (environment role):
    server name and token; `arci-init` connects to the boundary, says `ARCI environment <token> <server>` and relays
    between that connection and the process's stdin and stdout; its stderr stays the guest's. `files`: absolute path, as
    the guest sees it, -> content; written, and `directories` made, before the process starts (not for the boundary).
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    status_token: str | None = None
    serve: tuple[str, str] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    directories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a guest's output, cut anywhere."""

    stream: str
    """`stdout` or `stderr`."""
    data: bytes


@dataclass(frozen=True, slots=True)
class Exit:
    """How a guest ended, as the engine or the operating system tells it: data, whatever the code.

    `code` is None where it is unknown (never 0 for a process that did not run). `killed_by_us`: this back end killed
    it (deadline, stop). `oom_killed`: the engine's flag, a hint and no proof; None where the engine has none.
    """

    code: int | None
    signal: int | None = None
    killed_by_us: bool = False
    oom_killed: bool | None = None
    started: bool = True
    detail: str = ""
    """The engine's own words where it has any (for instance why the process could not be started)."""


class Guest(Protocol):
    """One running guest process tree."""

    async def send(self, data: bytes) -> None:
        """Write to its stdin. A guest that is gone is not an error: the bytes are dropped."""

    def output(self) -> AsyncIterator[Chunk]:
        """Its output as it comes, streams apart, until it has ended and is drained. Iterate once.

        Every byte is delivered (caps are the caller's); a background child that holds a stream does not keep the
        iterator open for more than a bounded drain time after the guest's own end.
        """

    async def wait(self, timeout_s: float) -> Exit | None:
        """How it ended, or None if it still runs after `timeout_s` (own monotonic deadline). May be called again."""

    async def stop(self, grace_s: float) -> Exit:
        """End the whole process tree: at once for 0, else TERM, `grace_s`, KILL. Idempotent."""


class Pod(Protocol):
    """The guests of one trial attempt. Leaving its context ends and removes everything of it.

    A pod whose agent does not run under `arci-init`, so that nothing is reported on the status connection, has an
    attribute `reports_status = False`; the agent is then judged by its `Exit` alone.
    """

    listen: str
    """What the recorder must listen on: `unix:/path` as seen by the boundary guest."""
    dial: str
    """What the agent side dials: `unix:/path` or `tcp:127.0.0.1:PORT`, as seen by the agent guest."""
    listen_http: str | None
    """A second address that the recorder must listen on so that the agent can speak HTTP (`tcp:127.0.0.1:0`); None
    where `dial` is TCP already."""
    shim: str | None
    """Path of `arci-init` as the agent guest sees it; None where there is none for this machine."""

    def workdir(self, role: Role) -> str:
        """Absolute path, as that guest sees it, of its writable private directory. Of the environment: the directory in
        which each server has one by its name; boundary and servers in containers of their own see it at the same path.
        """

    def scratch(self, role: Role) -> str:
        """Absolute path, as that guest sees it, of its directory for temporary files, outside its workdir."""

    def source(self, role: Role) -> str:
        """Absolute path, as that guest sees it, of the directory that holds the user's code for that role."""

    def python(self, role: Role, guest: str, *args: str) -> tuple[str, ...]:
        """The argv that starts ARCI's own guest program `guest` (`recorder`, `worker`, `grader`) with `args`."""

    async def start(self, role: Role, process: ProcessSpec) -> Guest:
        """Start a role's guest. Its streams are attached before its first instruction. EngineError if it cannot be.

        One guest per role; of the environment, one per server (`process.serve`).
        """

    async def get(self, role: Role, path: str, limit_bytes: int) -> bytes:
        """A tar archive of `path` in the workdir of the agent or the environment (there: only if a server's snapshot
        reads files, `Environment.needs_files`); works after the guest died, while the boundary lives, and of servers
        before the agent starts. Its
        members are named from the last part of `path` on (`./...` for `.`). Over the limit: ValueError; no such path:
        FileNotFoundError. The archive is hostile input."""


class Slots(Protocol):
    def pod(self, plan: TrialPlan) -> AbstractAsyncContextManager[Pod]:
        """A fresh pod for one attempt; waits for a free slot. Nothing of it is left when the context is left."""


class Isolation(Protocol):
    capabilities: frozenset[Capability]

    def open(self, run: RunPlan) -> AbstractAsyncContextManager[Slots]:
        """Holders, volumes and whatever the run needs; nothing of the run is left when the context is left."""

    async def check(self, run: RunPlan) -> Findings:
        """Preflight of the place itself: does it answer, are the limits enforced, is there room."""
