"""Make, start and remove single containers and volumes: the order create -> attach -> start, and bounded removal.

Used by holders and pods alike. What could not be removed is kept by name, never forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.abc

from arci.errors import EngineError
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.stream import AttachedStream
from arci.isolation.groups import task_group

__all__ = ["Containers"]

CALL_S = 60.0
"""Deadline of one engine call: far above what a loaded engine takes, far below for ever."""
_REMOVE_TRIES = 3


class Containers:
    """Everything that one run made on an engine, until it is removed."""

    def __init__(self, engine: Engine, tasks: anyio.abc.TaskGroup) -> None:
        self.engine = engine
        self.leaks: list[str] = []
        self._tasks = tasks
        self._containers: set[str] = set()
        self._volumes: set[str] = set()

    async def launch(self, config: Mapping[str, Any]) -> DockerGuest:
        """A started container whose streams were attached before its first instruction."""
        engine = self.engine
        created = await engine.call(
            "create a container", engine.api.create_container_from_config, dict(config), timeout_s=CALL_S
        )
        container_id: str = created["Id"]
        self._containers.add(container_id)
        attached = await engine.call(
            "attach to a container",
            engine.api.attach_socket,
            container_id,
            {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1},
            timeout_s=CALL_S,
        )
        guest = DockerGuest(engine, container_id, AttachedStream(attached))
        try:
            await engine.call("start a container", engine.api.start, container_id, timeout_s=CALL_S)
        except BaseException:
            guest.close()
            raise
        self._tasks.start_soon(guest.pump)
        return guest

    async def make_volume(self, arguments: Mapping[str, Any]) -> str:
        """A named volume; its name."""
        name: str = arguments["name"]
        self._volumes.add(name)
        await self.engine.call("create a volume", _create_volume, self.engine.api, dict(arguments), timeout_s=CALL_S)
        return name

    def discard(self, guests: tuple[DockerGuest, ...], volumes: tuple[str, ...]) -> None:
        """Remove these in the background, containers before their volumes."""
        self._tasks.start_soon(self._discard, tuple(g.container_id for g in guests), volumes)

    async def remove_all(self) -> None:
        """Remove whatever is left of the run. EngineError names what would not go, with the command that removes it."""
        async with task_group() as group:
            for container_id in tuple(self._containers):
                group.start_soon(self._remove_container, container_id)
        for name in tuple(self._volumes):
            await self._remove_volume(name)
        if self.leaks:
            raise EngineError(
                "clean up",
                f"the engine would not remove {', '.join(self.leaks)}.",
                hint=f"docker rm -f -v {' '.join(self.leaks)}",
            )

    async def _discard(self, containers: tuple[str, ...], volumes: tuple[str, ...]) -> None:
        for container_id in containers:
            await self._remove_container(container_id)
        for name in volumes:
            await self._remove_volume(name)

    async def _remove_container(self, container_id: str) -> None:
        if container_id not in self._containers:
            return
        self._containers.discard(container_id)
        await self._remove(container_id[:12], self.engine.api.remove_container, container_id, v=True, force=True)

    async def _remove_volume(self, name: str) -> None:
        if name not in self._volumes:
            return
        self._volumes.discard(name)
        await self._remove(name, self.engine.api.remove_volume, name, force=True)

    async def _remove(self, shown: str, function: Any, *args: Any, **kwargs: Any) -> None:
        """Try, and try again a little later; give up after a bound and remember the leak."""
        for attempt in range(1, _REMOVE_TRIES + 1):
            try:
                await self.engine.call("remove", function, *args, timeout_s=CALL_S, **kwargs)
            except EngineError as error:
                if error.status == 404:
                    return
                if attempt == _REMOVE_TRIES:
                    self.leaks.append(shown)
                    return
                await anyio.sleep(0.2 * attempt)
            else:
                return


def _create_volume(api: Any, arguments: dict[str, Any]) -> Any:
    return api.create_volume(**arguments)
