"""SIGINT and SIGTERM end a command cleanly: what it does is cancelled and cleans up; it exits with 130 or 143."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from types import FrameType
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
    import asyncio

    import anyio

    received: list[int] = []
    wakes: list[Callable[[], object]] = []

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for wake in wakes:
            wake()

    async def main() -> T | None:
        with anyio.CancelScope() as scope:

            def stop() -> None:
                options.notice(_STILL_STOPPING if scope.cancel_called else _STOPPING)
                scope.cancel()

            loop = asyncio.get_running_loop()
            wakes.append(lambda: loop.call_soon_threadsafe(stop))
            if received:  # before there was anything to wake
                stop()
            try:
                return await function(*args)
            finally:
                wakes.clear()
        return None

    before = {number: signal.signal(number, handle) for number in _heeded()}
    try:
        result = anyio.run(main)
    finally:
        for number, handler in before.items():
            # A signal on the way out must not change the exit code either.
            signal.signal(number, signal.SIG_IGN if received else handler)
    if received:
        raise SystemExit(_EXIT_CODES[signal.Signals(received[0])])
    assert result is not None
    return result


def _heeded() -> list[signal.Signals]:
    """Who started us may have had a signal ignored, as a shell does with SIGINT for a job in the background."""
    return [number for number in _EXIT_CODES if signal.getsignal(number) is not signal.SIG_IGN]
