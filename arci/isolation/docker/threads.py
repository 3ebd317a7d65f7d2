"""A blocking call in a daemon thread: one that was given up must not keep the interpreter from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel

__all__ = ["in_thread"]

T = TypeVar("T")


async def in_thread(function: Callable[[], T]) -> T:
    """`function()`. Cancelled, it is given up at once: the thread goes on alone, and what comes of it is dropped."""
    results: list[T] = []
    errors: list[BaseException] = []
    done, token = anyio.Event(), anyio.lowlevel.current_token()

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)
        with suppress(RuntimeError):  # the event loop has ended meanwhile
            anyio.from_thread.run_sync(done.set, token=token)

    # The library's own worker threads are no daemons: the interpreter would wait for the client's socket timeout.
    threading.Thread(target=work, daemon=True, name="engine call").start()
    await done.wait()
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # no cycle between the error and this frame
    return results[0]
