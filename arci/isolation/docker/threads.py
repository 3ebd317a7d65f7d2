"""A blocking call in a daemon thread: one that was given up must not keep the interpreter from ending.

The library's own worker threads are no daemons: the interpreter would wait for the client's socket timeout. Threads are
kept and used again, since starting one costs as much as a short call.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar

__all__ = ["begin_in_thread", "in_thread"]

T = TypeVar("T")

_idle: list[SimpleQueue[Callable[[], None]]] = []
"""The queues of threads that wait for work, the one used last at the end. Appending and popping are atomic."""


async def in_thread(function: Callable[[], T]) -> T:
    """`function()`. Cancelled, it is given up at once: the thread goes on alone, and what comes of it is dropped."""
    return await begin_in_thread(function)


def begin_in_thread(function: Callable[[], T]) -> asyncio.Future[T]:
    """The answer of `function()` to come. Who cancels it gives it up, as `in_thread` does."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        try:
            result = function()
        except BaseException as error:
            _tell(loop, _fail, answer, error)
        else:
            _tell(loop, _succeed, answer, result)

    try:
        queue = _idle.pop()
    except IndexError:
        queue = SimpleQueue()
        threading.Thread(target=_serve, args=(queue,), daemon=True, name="engine call").start()
    queue.put(work)
    return answer


def _serve(queue: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        work = queue.get()
        work()
        del work  # what it returned may be large, and this thread may wait long
        _idle.append(queue)


def _tell(loop: asyncio.AbstractEventLoop, what: Callable[..., None], *args: object) -> None:
    with suppress(RuntimeError):  # the event loop has ended meanwhile
        loop.call_soon_threadsafe(what, *args)


def _succeed(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[T], error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
