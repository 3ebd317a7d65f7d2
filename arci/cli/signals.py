"""SIGINT and SIGTERM end a command cleanly: what it does is cancelled and cleans up; it exits with 130 or 143."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from arci.cli import options

__all__ = ["run_interruptibly"]

T = TypeVar("T")

_EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
_STOPPING = "stopping: what runs is ended and removed."
_STILL_STOPPING = "still stopping; what cannot be removed will be named."


def run_interruptibly(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """`anyio.run`, ended by the first signal through cancellation: SystemExit with the signal's exit code.

    Further signals end nothing: a clean-up that is cut short leaves containers behind.
    """
    import anyio

    from arci.isolation.groups import task_group

    received: list[int] = []
    results: list[T] = []

    async def watch(signals: Any, scope: anyio.CancelScope) -> None:
        async for number in signals:
            options.notice(_STILL_STOPPING if received else _STOPPING)
            received.append(number)
            scope.cancel()

    async def main() -> None:
        with anyio.open_signal_receiver(*_heeded()) as signals:
            async with task_group() as group:
                with anyio.CancelScope() as scope:
                    group.start_soon(watch, signals, scope)
                    results.append(await function(*args))
                group.cancel_scope.cancel()

    anyio.run(main)
    if received:
        raise SystemExit(_EXIT_CODES[signal.Signals(received[0])])
    return results[0]


def _heeded() -> list[signal.Signals]:
    """Who started us may have had a signal ignored, as a shell does with SIGINT for a job in the background."""
    return [number for number in _EXIT_CODES if signal.getsignal(number) is not signal.SIG_IGN]
