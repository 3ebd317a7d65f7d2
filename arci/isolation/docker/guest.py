"""One container as a `Guest`: its attached streams, its end, its stop. The container is made elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio

from arci.errors import EngineError
from arci.isolation.base import Chunk, Exit
from arci.isolation.docker import container_calls
from arci.isolation.docker.connection import Connection
from arci.isolation.docker.demux import Demux
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.trouble import is_not_running

__all__ = ["DockerGuest"]

_CALL_S = 60.0
_RECONCILE_S = 5.0
"""How often a guest whose stream stays silent is looked at through the engine."""
_KILLED_RECONCILE_S = 0.5
"""The same once we have killed it: its end is due."""
_DRAIN_S = 2.0
"""How long after a container's end its stream may stay open before we stop listening."""
_ENDED_FROM_OUTSIDE = (137, 143)
"""How arci-init ends when it was killed, or told to stop."""
_UNREAD_BYTES = 16 << 20
"""Output nobody has fetched yet; past it we stop reading, and the engine holds the guest back."""


class DockerGuest:
    def __init__(self, engine: Engine, container_id: str, stream: Connection) -> None:
        self.container_id = container_id
        self._engine = engine
        self._stream = stream
        self._chunks: deque[Chunk] = deque()
        self._received = 0
        self._unread = 0
        self._news = anyio.Event()  # set when a chunk came, was taken, or the stream ended
        self._ended = anyio.Event()  # the stream is at its end
        self._exit: Exit | None = None
        self._killed = False
        self._broken: str | None = None  # what was wrong with the stream
        self.holder: DockerGuest | None = None
        """Whose namespace it has joined, if its way out leads through that: dead, it takes the guest along."""

    @property
    def has_ended(self) -> bool:
        """True once its stream is at its end."""
        return self._ended.is_set()

    async def pump(self) -> None:
        """Read the stream to its end; run by the pod in its task group."""
        demux = Demux()
        try:
            while data := await self._stream.receive():
                self._received += len(data)
                for chunk in demux.feed(data):
                    self._chunks.append(chunk)
                    self._unread += len(chunk.data)
                self._tell()
                while self._is_held_back and not self._ended.is_set():
                    await self._news.wait()
            if not demux.is_between_frames and not self._ended.is_set():
                self._broken = "its stream was cut in the middle."
        except ValueError as error:
            self._broken = str(error)
        finally:
            # Both outputs are at their end, so the guest is; an engine need not read what is still sent to its stdin.
            self._stream.close()
            self._ended.set()
            self._tell()

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    @property
    def is_sending(self) -> bool:
        """True while something waits for the guest, or its engine, to take it."""
        return self._stream.is_sending

    async def output(self) -> AsyncIterator[Chunk]:
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._unread -= len(chunk.data)
                self._tell()
                yield chunk
            if self._ended.is_set():
                return
            with anyio.move_on_after(_RECONCILE_S) as silence:
                await self._news.wait()
            if silence.cancelled_caught:
                with suppress(EngineError):  # `wait` tells of it
                    await self._reconcile()

    async def wait(self, timeout_s: float) -> Exit | None:
        """The end of the stream is the sign, the engine the witness; a silent stream is reconciled with the engine."""
        if self._broken is not None:
            raise EngineError("read a container's output", self._broken)
        end = await self._wait(timeout_s)
        await self._blame_holder()
        return end

    async def stop(self, grace_s: float) -> Exit:
        if self._exit is None and grace_s > 0:
            await self._signal("SIGTERM")
            await self._wait(grace_s)
        if self._exit is None:
            await self._signal("SIGKILL")
            await self._wait(_CALL_S)
        if self._exit is None:
            raise EngineError(
                "stop a container",
                f"{self.container_id[:12]} does not end after SIGKILL and {_CALL_S:.0f} s.",
                hint=f"docker rm -f {self.container_id[:12]}",
            )
        await self._blame_holder()
        return self._exit

    def close(self) -> None:
        """Let go of the stream."""
        self._stream.close()
        self._ended.set()
        self._tell()

    @property
    def _is_held_back(self) -> bool:
        return self._unread > _UNREAD_BYTES

    async def _wait(self, timeout_s: float) -> Exit | None:
        lag_s = 0.005
        with anyio.move_on_after(timeout_s):
            while self._exit is None:
                with anyio.move_on_after(_KILLED_RECONCILE_S if self._killed else _RECONCILE_S):
                    await self._ended.wait()
                await self._reconcile()
                if self._exit is None and self._ended.is_set():
                    # The stream broke, or the engine's books lag behind the container's end.
                    await anyio.sleep(lag_s)
                    lag_s = min(2 * lag_s, 1.0)
        return self._exit

    async def _blame_holder(self) -> None:
        """EngineError if it was ended because its holder had died, which no guest can bring about."""
        end, holder = self._exit, self.holder
        if end is None or holder is None or end.killed_by_us or end.code not in _ENDED_FROM_OUTSIDE:
            return
        if not await holder.is_running():  # its stream tells nothing: we may have let go of it ourselves
            raise EngineError(
                "hold a trial's network",
                f"the container that holds it, {holder.container_id[:12]}, died before the guest.",
            )

    async def is_running(self) -> bool:
        """As the engine has it; False for a container that is gone."""
        try:
            return bool((await self._inspect())["State"]["Running"])
        except EngineError as error:
            if error.status == 404:
                return False
            raise

    async def _signal(self, name: str) -> None:
        try:
            await self._engine.ask(
                "signal a container",
                container_calls.kill,
                self._engine.http,
                self.container_id,
                name,
                timeout_s=_CALL_S,
            )
        except EngineError as error:
            if not is_not_running(error):
                raise
        else:
            self._killed = True

    async def _reconcile(self) -> None:
        """Ask the engine whether the container has ended; if so, let its stream run dry and keep how it ended."""
        state = (await self._inspect())["State"]
        if state["Running"] or state.get("Status") in ("created", "running", "paused"):
            return
        await self._drain()
        self._exit = exit_of_state(state, killed_by_us=self._killed)

    async def _drain(self) -> None:
        """Until the stream has ended, waits for its reader, or was silent for a while: then it is closed."""
        while not self._ended.is_set() and not self._is_held_back:
            before = self._received
            with anyio.move_on_after(_DRAIN_S):
                await self._ended.wait()
            if self._received == before and not self._is_held_back:
                self.close()

    async def _inspect(self) -> dict[str, dict[str, object]]:
        return await self._engine.ask(
            "inspect a container", container_calls.inspect, self._engine.http, self.container_id, timeout_s=_CALL_S
        )

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()


def exit_of_state(state: dict[str, object], *, killed_by_us: bool) -> Exit:
    """The engine's `State` of a container that is not running, as data. Pure.

    A container that never started has no code: the engine then says 0 (tried), which must never count as success.
    """
    code = state.get("ExitCode")
    started = not str(state.get("StartedAt") or "0001").startswith("0001")
    oom = state.get("OOMKilled")
    detail = ""
    with suppress(TypeError):
        detail = str(state.get("Error") or "")
    return Exit(
        code=code if started and isinstance(code, int) else None,
        killed_by_us=killed_by_us and code in (137, 143),
        oom_killed=oom if isinstance(oom, bool) else None,
        started=started,
        detail=detail,
    )
