"""Remove things of one kind from an engine: each once, with a bound; what will not go is told, never forgotten."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from arci.errors import EngineError
from arci.isolation.docker.engine import Engine
from arci.isolation.groups import task_group

__all__ = ["Removal"]

_BOUND_S = 60.0
"""For one thing, all tries together: far above what a loaded engine takes, far below for ever."""
_TRIES = 3
_PAUSE_S = 0.2


class Removal:
    """`await function(key)` removes one thing, by id or name. For all containers, and for all volumes, of a run."""

    def __init__(self, engine: Engine, function: Callable[[str], Awaitable[object]]) -> None:
        self._engine = engine
        self._function = function
        self._here: set[str] = set()
        self._under_way: dict[str, anyio.Event] = {}
        self._troubles: dict[str, str] = {}

    def add(self, key: str) -> None:
        """There is, or may be, such a thing."""
        self._here.add(key)

    def forget(self, key: str) -> None:
        """There is no such thing, or it has another key."""
        self._here.discard(key)

    @property
    def leaks(self) -> dict[str, str]:
        """Key -> why it was not removed, of all that was tried."""
        return dict(self._troubles)

    @property
    def rest(self) -> tuple[str, ...]:
        """What is still here and was not given up."""
        return tuple(sorted(self._here))

    async def remove(self, key: str) -> None:
        """Gone, or among the leaks, when this returns; who comes second waits for the first."""
        if (under_way := self._under_way.get(key)) is not None:
            await under_way.wait()
        elif key in self._here:
            await self._remove_once(key)

    async def remove_all(self) -> None:
        async with task_group() as group:
            for key in self.rest:
                group.start_soon(self.remove, key)

    async def _remove_once(self, key: str) -> None:
        done = self._under_way[key] = anyio.Event()
        try:
            trouble = await self._try(key)
            self._here.discard(key)
            if trouble is not None:
                self._troubles[key] = trouble
        finally:  # cancelled: it stays here, for who tries next
            del self._under_way[key]
            done.set()

    async def _try(self, key: str) -> str | None:
        """None when it is gone, else why it is not."""
        trouble = f"the engine did not answer within {_BOUND_S:g} s."
        with anyio.move_on_after(_BOUND_S):
            for attempt in range(_TRIES):
                await anyio.sleep(attempt * _PAUSE_S)
                try:
                    await self._engine.ask("remove", self._function, key, timeout_s=_BOUND_S)
                except EngineError as error:
                    if error.status == 404:
                        return None
                    trouble = error.message.removeprefix("remove: ")
                    if self._engine.is_mute:
                        break
                else:
                    return None
        return trouble
