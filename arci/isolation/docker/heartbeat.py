"""Signs of life to the guests of a run. Where an engine is killed its shims hold every stream open, so that no guest
sees the end of its stdin: what is started with `--silence-ms N` ends once it has heard nothing for so long.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.abc

from arci.errors import UsageError
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.spec import SILENCE

__all__ = ["Heartbeat", "silence_ms"]

_SILENCE_MS = 30_000
"""Far more than a loaded machine keeps us waiting. Clocks of guests stand still while their machine sleeps."""
_SILENCE_MOST_MS = 1 << 30
_BEATS = 6
"""So many signs of life fall into the silence that is allowed."""
_BEAT = b"\n"


def silence_ms() -> int:
    """How long a guest lives on without a sign of life: `ARCI_SILENCE_MS`, else 30 s. UsageError for what is no such
    number."""
    told = os.environ.get("ARCI_SILENCE_MS", str(_SILENCE_MS))
    if not (told.isascii() and told.isdigit() and 1 <= int(told) <= _SILENCE_MOST_MS):
        raise UsageError(f"ARCI_SILENCE_MS: {told!r} is no number of milliseconds; 1 to {_SILENCE_MOST_MS} is allowed.")
    return int(told)


class Heartbeat:
    """One task for all guests of a run that listen."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self.silence_ms = silence_ms()
        self._tasks = tasks
        self._guests: set[DockerGuest] = set()
        self._scope: anyio.CancelScope | None = None

    def keep(self, guest: DockerGuest, config: Mapping[str, Any]) -> None:
        """Tell this guest from now on, until its stream ends, if what it was created with says that it listens."""
        if SILENCE not in config["Cmd"]:
            return
        self._guests.add(guest)
        if self._scope is None:
            self._scope = anyio.CancelScope()
            self._tasks.start_soon(self._beat, self._scope)

    def stop(self) -> None:
        """The run is at its end."""
        if self._scope is not None:
            self._scope.cancel()

    async def _beat(self, scope: anyio.CancelScope) -> None:
        with scope:
            while True:
                await anyio.sleep(self.silence_ms / 1000 / _BEATS)
                self._guests = {guest for guest in self._guests if not guest.has_ended}
                for guest in self._guests:
                    # Each for itself: one that does not read must not keep us from the others.
                    if not guest.is_sending:
                        self._tasks.start_soon(guest.send, _BEAT)
