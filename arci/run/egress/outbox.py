"""Frames on their way to one recorder: each is written whole or not at all, whoever hangs up meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Self

import anyio

from arci.errors import EngineError

__all__ = ["Outbox", "Send"]

Frame = dict[str, Any]
Send = Callable[[Frame], Awaitable[None]]
"""Writes one frame to the recorder; EngineError where it cannot."""


class Outbox:
    """One task writes, so that a call may be cancelled at any time without cutting a frame in two."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._into, self._out = anyio.create_memory_object_stream[Frame](0)
        self._silenced: set[int] = set()
        self._is_deaf = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._into.close()
        self._out.close()

    async def put(self, frame: Frame) -> None:
        """Returns when the frame is being written; the next one of the same call waits for its end."""
        await self._into.send(frame)

    def silence(self, request: int) -> None:
        """Nothing more is sent for that request."""
        self._silenced.add(request)

    async def write(self) -> None:
        """Until `close`. A recorder that cannot be reached is not told of; whoever listens to it knows."""
        async for frame in self._out:
            if self._is_deaf or frame["request"] in self._silenced:
                continue
            try:
                await self._send(frame)
            except EngineError:
                self._is_deaf = True

    def close(self) -> None:
        """No frame follows."""
        self._into.close()
