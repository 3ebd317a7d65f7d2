"""Lets requests of all trials through to one upstream as its pace allows. Acts on what `pacing` decides."""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup

from arci.run.egress.clock import Clock
from arci.run.egress.pacing import Pace

__all__ = ["Turnstile"]


class Turnstile:
    """`tasks` outlives every request: in it, one timer runs while there is something to wait for."""

    def __init__(self, pace: Pace, clock: Clock, tasks: TaskGroup) -> None:
        self._pace = pace
        self._clock = clock
        self._tasks = tasks
        self._events: dict[int, anyio.Event] = {}
        self._has_timer = False

    async def enter(self, ticket: int | None = None) -> int:
        """Waits until a request may go out; its ticket, which must be given back. A resend brings its old one."""
        if ticket is None:
            ticket = self._pace.ask()
        else:
            self._pace.ask_again(ticket)
        event = self._events[ticket] = anyio.Event()
        self._turn()
        try:
            await event.wait()
        except BaseException:
            self._abandon(ticket)
            raise
        return ticket

    def answered(self, ticket: int) -> None:
        """The ticket's request has ended well."""
        self._pace.answered(ticket)
        self._turn()

    def throttled(self, ticket: int) -> None:
        """The upstream wants less."""
        self._pace.throttled(ticket)
        self._turn()

    def broken(self, ticket: int) -> None:
        """The ticket's request has ended without an answer, or was given up."""
        self._pace.broken(ticket)
        self._turn()

    def hold(self, seconds: float) -> None:
        """Nothing goes to the upstream for that long."""
        self._pace.hold(self._clock.now_s() + seconds)

    def _abandon(self, ticket: int) -> None:
        if self._events.pop(ticket, None) is None:  # it had been let through in the same moment
            self._pace.broken(ticket)
        else:
            self._pace.leave(ticket)
        self._turn()

    def _turn(self) -> None:
        admitted, wait_s = self._pace.admit(self._clock.now_s())
        for ticket in admitted:
            self._events.pop(ticket).set()
        if wait_s is not None and not self._has_timer:
            self._has_timer = True
            self._tasks.start_soon(self._ring, wait_s)

    async def _ring(self, wait_s: float) -> None:
        await self._clock.sleep(wait_s)
        self._has_timer = False
        self._turn()
