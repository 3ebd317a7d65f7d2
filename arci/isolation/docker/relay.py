"""Tell a slot's holder where to relay to: one line, one answer."""

from __future__ import annotations

import anyio

from arci.errors import EngineError
from arci.isolation.docker.guest import DockerGuest

__all__ = ["expect_line", "point_relay"]

_ANSWER_S = 30.0


async def expect_line(guest: DockerGuest, line: bytes, operation: str) -> None:
    """Read a holder's answer; EngineError with what it said instead."""
    said = b""
    with anyio.move_on_after(_ANSWER_S):
        async for chunk in guest.output():
            said += chunk.data
            if said.endswith(b"\n"):
                break
    if said.strip() != line:
        raise EngineError(operation, f"it said {said[-200:]!r}; {line!r} was expected.")


async def point_relay(holder: DockerGuest, socket_path: str) -> None:
    """Relay new connections to `socket_path` (in the slot's volume) and cut those of the trial before."""
    await holder.send(f"target {socket_path}\n".encode())
    await expect_line(holder, b"ok", "point a slot's relay")
