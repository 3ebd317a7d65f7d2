"""What a conformance check works with: a back end under test, pods of it, and guests whose output is watched."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from arci.isolation.base import Exit, Guest, Pod, ProcessSpec, RunPlan, Slots, TrialPlan
from arci.isolation.conformance.plan import SHOP
from arci.isolation.groups import task_group
from arci.isolation.remains import Observable
from arci.isolation.script import Echo, Listen, Script, render
from arci.model.trial import Role

__all__ = ["PATIENCE_S", "TOKEN", "Bench", "ConformanceFailure", "Ran", "Watched", "require", "watched"]

PATIENCE_S = 20.0
"""How long a check waits for what must happen; far above what any engine needs."""
TOKEN = "t0k3n"


class ConformanceFailure(AssertionError):
    """A back end does not keep its contract; the message says what was seen."""


def require(holds: bool, seen: str) -> None:
    """ConformanceFailure with `seen` unless `holds`."""
    if not holds:
        raise ConformanceFailure(seen)


@dataclass(frozen=True, slots=True)
class Ran:
    """A guest that ran to its end."""

    exit: Exit
    stdout: bytes
    stderr: bytes


class Watched:
    """A guest's output as it grows."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self._streams = {"stdout": bytearray(), "stderr": bytearray()}
        self._ended = False
        self._news = anyio.Event()

    @property
    def stdout(self) -> bytes:
        return bytes(self._streams["stdout"])

    @property
    def stderr(self) -> bytes:
        return bytes(self._streams["stderr"])

    async def follow(self) -> None:
        async for chunk in self.guest.output():
            self._streams[chunk.stream] += chunk.data
            self._tell()
        self._ended = True
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def until(self, text: bytes) -> None:
        """Until `text` is on stdout; ConformanceFailure if it never comes."""
        with anyio.move_on_after(PATIENCE_S):
            while text not in self._streams["stdout"] and not self._ended:
                await self._news.wait()
        require(text in self._streams["stdout"], f"{text!r} never came: {self._seen()}")

    async def end(self) -> Ran:
        """How it ended and everything it wrote; ConformanceFailure if guest or output never end."""
        end = await self.guest.wait(PATIENCE_S)
        if end is None:
            raise ConformanceFailure(f"the guest still runs after {PATIENCE_S:g} s: {self._seen()}")
        with anyio.move_on_after(PATIENCE_S):
            while not self._ended:
                await self._news.wait()
        require(self._ended, f"the guest has ended, its output has not after {PATIENCE_S:g} s: {self._seen()}")
        return Ran(end, self.stdout, self.stderr)

    def _seen(self) -> str:
        return f"stdout ends {self.stdout[-200:]!r}, stderr ends {self.stderr[-600:]!r}"


@asynccontextmanager
async def watched(guest: Guest) -> AsyncIterator[Watched]:
    """The guest with its output being read; reading stops when the context is left."""
    watch = Watched(guest)
    async with task_group() as tasks:
        tasks.start_soon(watch.follow)
        try:
            yield watch
        finally:
            tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class Bench:
    """A back end under test, opened."""

    isolation: Observable
    run: RunPlan
    slots: Slots
    python: str = "python3"
    """The interpreter that runs scripts, as guests see it."""
    repeats: int = 20
    """How often a check does again what goes wrong only sometimes."""
    owner: str | None = None
    """`module:callable` that makes the back end in another process; None: it cannot be made there."""
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def pod(self, arm: str = "baseline") -> AbstractAsyncContextManager[Pod]:
        return self.slots.pod(TrialPlan(f"conformance:{next(self._numbers):05d}:{arm}", arm, 1))

    async def start(
        self,
        pod: Pod,
        role: Role,
        script: Script,
        *,
        env: Mapping[str, str] | None = None,
        server: str = SHOP,
        **how: Any,
    ) -> Guest:
        """Start `script` as `role`; its relative paths are below the role's workdir, wherever the guest starts.

        As ENVIRONMENT it is the server of that name, whose directory is made. `how`: more of its `ProcessSpec`.
        """
        home = pod.workdir(role)
        if role is Role.ENVIRONMENT:
            home = f"{home}/{server}"
            how = {"serve": (server, TOKEN), "directories": (home,), **how}
        env = {"ARCI_WORKDIR": home, **(env or {})}
        return await pod.start(role, ProcessSpec(render(script, self.python), env, **how))

    @asynccontextmanager
    async def watching(self, pod: Pod, role: Role, script: Script, **how: Any) -> AsyncIterator[Watched]:
        """As `start`, with its output being read."""
        async with watched(await self.start(pod, role, script, **how)) as guest:
            yield guest

    async def ran(self, pod: Pod, role: Role, script: Script, **how: Any) -> Ran:
        """As `start`, to its end."""
        async with self.watching(pod, role, script, **how) as guest:
            return await guest.end()

    async def once(self, script: Script, *, role: Role = Role.AGENT, stdin: bytes | None = None) -> Ran:
        """Run `script` to its end in a pod of its own."""
        async with self.pod() as pod:
            return await self.ran(pod, role, script, stdin=stdin)

    @asynccontextmanager
    async def listening(self, pod: Pod, *, half_closes: bool = False) -> AsyncIterator[Watched]:
        """A boundary that listens on the pod's address and prints who connects and who goes."""
        async with self.watching(pod, Role.BOUNDARY, (Listen(pod.listen, half_closes),)) as boundary:
            await boundary.until(b"listening\n")
            yield boundary

    async def keep_boundary(self, pod: Pod) -> Guest:
        """A boundary that does nothing but live: on some back ends it keeps the pod's files reachable."""
        return await self.start(pod, Role.BOUNDARY, (Echo(),))
