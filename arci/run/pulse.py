"""Waiting for a condition over plain state that several tasks of one trial change. No clock of its own."""

from __future__ import annotations

from collections.abc import Callable

import anyio

__all__ = ["Pulse"]


class Pulse:
    """Who changes the state calls `beat`; who waits says for what."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def beat(self) -> None:
        """The state has changed: everyone who waits looks again."""
        self._event.set()
        self._event = anyio.Event()

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """True as soon as `condition()` holds, False if it does not hold after `timeout_s` seconds."""
        with anyio.move_on_after(timeout_s):
            while not condition():
                await self._event.wait()
        return condition()
