"""How many pods may be started or ended at once: that computes, on this machine. Trials that wait take no part in it.

So a hundred trials may wait for a model while a few start: the start of one is not slowed down by a hundred others.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

__all__ = ["Gate", "Turn", "processors"]


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Gate:
    """`most`: turns at once; one more than there are processors unless given."""

    def __init__(self, most: int | None = None) -> None:
        self._free = anyio.Semaphore(processors() + 1 if most is None else most)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """A turn, taken; given back at the end at the latest."""
        turn = Turn(self._free)
        await turn.take()
        try:
            yield turn
        finally:
            turn.give_back()


class Turn:
    """May be given back and taken again, any number of times."""

    def __init__(self, free: anyio.Semaphore) -> None:
        self._free = free
        self._is_taken = False

    async def take(self) -> None:
        """Waits until there is a turn, in the order of asking. Nothing happens where it is taken already."""
        if not self._is_taken:
            await self._free.acquire()
            self._is_taken = True

    def give_back(self) -> None:
        """Lets another one go ahead."""
        if self._is_taken:
            self._is_taken = False
            self._free.release()
