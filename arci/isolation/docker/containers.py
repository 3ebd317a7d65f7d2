"""Make, start and remove single containers and volumes: the order create -> attach -> start, and bounded removal.

Used by holders and pods alike. What could not be removed is kept by name, never forgotten.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.abc

from arci.errors import EngineError
from arci.isolation.docker import container_calls
from arci.isolation.docker.dialect import podman_config, podman_volume
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.heartbeat import Heartbeat
from arci.isolation.docker.removal import Removal

__all__ = ["CALL_S", "Containers"]

T = TypeVar("T")

CALL_S = 60.0
"""Deadline of one engine call: far above what a loaded engine takes, far below for ever."""
_CLEAN_UP_S = 120.0
"""Deadline of removing the things of one pod, and of removing everything at the end of a run."""


class Containers:
    """Everything that one run made on an engine, until it is removed."""

    def __init__(self, engine: Engine, tasks: anyio.abc.TaskGroup) -> None:
        self.engine = engine
        self.processes: int | None = None
        """What the engine gives a container by itself, once it was probed."""
        self._tasks = tasks
        self._heartbeat = Heartbeat(tasks)
        self._guests: dict[str, DockerGuest] = {}
        self._containers = Removal(engine, partial(container_calls.remove, engine.http))
        self._volumes = Removal(engine, partial(container_calls.remove_volume, engine.http))

    @property
    def leaks(self) -> tuple[str, ...]:
        """Ids and names of what the engine would not remove so far."""
        return (*self._containers.leaks, *self._volumes.leaks)

    @property
    def silence_ms(self) -> int:
        """How long a guest that listens for signs of life (`--silence-ms`) is to live on without one."""
        return self._heartbeat.silence_ms

    async def launch(self, config: Mapping[str, Any]) -> DockerGuest:
        """A started container whose streams were attached before its first instruction; told that we live, if it
        listens."""
        container_id = await self._create(config)
        try:
            guest = await self._attach(container_id)
            await self._ask("start a container", container_calls.start, container_id)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._remove_container(container_id)
            raise
        self._tasks.start_soon(guest.pump)
        self._heartbeat.keep(guest, config)
        return guest

    def feed(self, guest: DockerGuest, data: bytes) -> None:
        """Send `data` in the background: a guest may read its stdin late, or never."""
        self._tasks.start_soon(guest.send, data)

    async def make_volume(self, arguments: Mapping[str, Any]) -> str:
        """A named volume; its name."""
        name: str = arguments["name"]
        wanted = podman_volume(arguments) if self.engine.is_podman else dict(arguments)
        self._volumes.add(name)
        with anyio.CancelScope(shield=True):  # else it could be made after we have removed everything
            await self._ask("create a volume", container_calls.create_volume, wanted)
        return name

    async def remove(self, guests: tuple[DockerGuest, ...], volumes: tuple[str, ...]) -> None:
        """Remove these, containers before their volumes; what will not go is told when the run is left."""
        with anyio.move_on_after(_CLEAN_UP_S, shield=True):  # a cancelled run removes what it made all the same
            for guest in guests:
                await self._remove_container(guest.container_id)
            for name in volumes:
                await self._volumes.remove(name)

    def discard(self, guests: tuple[DockerGuest, ...], volumes: tuple[str, ...]) -> None:
        """`remove` in the background."""
        self._tasks.start_soon(self.remove, guests, volumes)

    async def remove_all(self) -> None:
        """Remove whatever is left of the run. EngineError names what would not go, with the command that removes it."""
        self._heartbeat.stop()
        with anyio.move_on_after(_CLEAN_UP_S):
            for guest in self._guests.values():
                guest.close()  # an engine that never closes a stream must not keep us
            await self._containers.remove_all()
            await self._volumes.remove_all()
        self._tell_leaks()

    async def _create(self, config: Mapping[str, Any]) -> str:
        # Where the engine's answer never comes, the name is what we find it by.
        name = f"arci-{secrets.token_hex(12)}"
        wanted = podman_config(config, self.processes) if self.engine.is_podman else dict(config)
        self._containers.add(name)
        with anyio.CancelScope(shield=True):
            container_id = await self._ask("create a container", container_calls.create, wanted, name)
        self._containers.forget(name)
        self._containers.add(container_id)
        return container_id

    async def _attach(self, container_id: str) -> DockerGuest:
        with anyio.CancelScope(shield=True):  # else nobody would close the socket
            stream = await self._ask("attach to a container", container_calls.attach, container_id)
        guest = DockerGuest(self.engine, container_id, stream)
        self._guests[container_id] = guest
        return guest

    async def _remove_container(self, container_id: str) -> None:
        if (guest := self._guests.pop(container_id, None)) is not None:
            guest.close()
        await self._containers.remove(container_id)

    async def _ask(self, operation: str, function: Callable[..., Awaitable[T]], *args: object) -> T:
        return await self.engine.ask(operation, function, self.engine.http, *args, timeout_s=CALL_S)

    def _tell_leaks(self) -> None:
        containers = [_short(key) for key in (*self._containers.leaks, *self._containers.rest)]
        volumes = [*self._volumes.leaks, *self._volumes.rest]
        if not containers and not volumes:
            return
        reasons = (*self._containers.leaks.values(), *self._volumes.leaks.values(), "it did not answer in time.")
        commands = [f"docker rm -f -v {' '.join(containers)}"] if containers else []
        commands += [f"docker volume rm -f {' '.join(volumes)}"] if volumes else []
        raise EngineError(
            "clean up",
            f"the engine would not remove {', '.join((*containers, *volumes))}: {reasons[0]}",
            hint="; ".join(commands),
        )


def _short(key: str) -> str:
    """An id as people know it; a name as it is."""
    return key if key.startswith("arci-") else key[:12]
