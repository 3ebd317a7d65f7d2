"""A back end that brings a run to rest at some of its trials, so that what is kept between trials can be counted.

Wraps any back end. At rest no pod is open, every earlier trial is recorded and all workers wait at the next one's door.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import anyio

from arci.isolation.base import Findings, Isolation, Pod, RunPlan, Slots, TrialPlan

__all__ = ["RestingIsolation"]

Look = Callable[[str], Awaitable[None]]
"""Called at rest, with how many pods there have been in words."""


class RestingIsolation:
    """`isolation`, at rest once each of `after` pods have been opened, and once more when the last has ended.

    At most as many workers as trials may be started at once (`arci.run.gate`): those that wait keep their turn.
    """

    def __init__(self, isolation: Isolation, after: Iterable[int], look: Look) -> None:
        self.capabilities = isolation.capabilities
        self._isolation = isolation
        self._after = tuple(after)
        self._look = look

    @asynccontextmanager
    async def open(self, run: RunPlan) -> AsyncIterator[Slots]:
        async with self._isolation.open(run) as slots:
            resting = _RestingSlots(slots, self._after, self._look, run.workers)
            yield resting
            await self._look(f"all {resting.opened}")

    async def check(self, run: RunPlan) -> Findings:
        return await self._isolation.check(run)


class _RestingSlots:
    def __init__(self, slots: Slots, after: tuple[int, ...], look: Look, workers: int) -> None:
        self.opened = 0
        self._slots = slots
        self._after = list(after)
        self._look = look
        self._workers = workers
        self._waiting = 0
        self._rested = anyio.Event()

    @asynccontextmanager
    async def pod(self, plan: TrialPlan) -> AsyncIterator[Pod]:
        await self._rest()
        self.opened += 1
        async with self._slots.pod(plan) as pod:
            yield pod

    async def _rest(self) -> None:
        """Whoever comes last looks, and lets everybody in."""
        if not self._after or self.opened < self._after[0]:
            return
        rested = self._rested
        self._waiting += 1
        if self._waiting < self._workers:
            await rested.wait()
            return
        await self._look(f"{self.opened}")
        self._after.pop(0)
        self._waiting, self._rested = 0, anyio.Event()
        rested.set()
