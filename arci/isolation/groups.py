"""Task groups whose failure comes out as the one error that caused it, not as a group around it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.abc

__all__ = ["task_group"]


@asynccontextmanager
async def task_group() -> AsyncIterator[anyio.abc.TaskGroup]:
    """As `anyio.create_task_group`, but raises the first error of the group itself; the others become its notes."""
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        first, *others = _leaves(group)
        for other in others:
            first.add_note(f"and: {type(other).__name__}: {other}")
        raise first from first.__cause__


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
