"""SIGINT, SIGTERM and SIGHUP end a command cleanly: what it does is cancelled and cleans up; it exits with 128 + the
signal's number. A second SIGINT ends it at once."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from types import FrameType
from typing import Any, TypeVar

from arci.cli import options

__all__ = ["clean_command", "run_interruptibly"]

T = TypeVar("T")

_EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
_STOPPING = "stopping: what runs is ended and removed. Ctrl-C again leaves that to others."
_STILL_STOPPING = "still stopping; what cannot be removed will be named."
_AT_ONCE = (
    "stopped at once: what was started ends by itself. What is left of it is removed by the next run, or by: {}\n"
)
_ONE_PRESS_S = 0.05
"""Terminal and wrapper (`uv run`, `make`) both pass a Ctrl-C on: signals this close together are one."""


def run_interruptibly(function: Callable[..., Awaitable[T]], *args: Any) -> T:
    """`anyio.run`, ended by the first signal through cancellation: SystemExit with the signal's exit code.

    Of further signals only a second SIGINT ends more: the process, at once, as if it were killed. What it had started
    then ends by itself, and its stopped left-overs wait for the next sweep.
    """
    import asyncio

    import anyio

    received: list[int] = []
    interrupts: list[float] = []
    wakes: list[Callable[[], object]] = []

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if number == signal.SIGINT:
            interrupts.append(time.monotonic())
            if interrupts[-1] - interrupts[0] > _ONE_PRESS_S:
                _leave_at_once()
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


def clean_command(environ: Mapping[str, str]) -> str:
    """What removes left-overs from the engine that is in use. Pure."""
    names = ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_CONTEXT")
    return " ".join([*(f"{name}={shlex.quote(environ[name])}" for name in names if environ.get(name)), "arci clean"])


def _leave_at_once() -> None:
    """Nothing is cleaned up: the chain of life ends what runs, and a store is whole after every write."""
    os.write(2, _AT_ONCE.format(clean_command(os.environ)).encode())
    os._exit(_EXIT_CODES[signal.SIGINT])
