"""The clocks that pacing and resending go by, given so that no test must wait."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

__all__ = ["Clock"]


@dataclass(frozen=True, slots=True)
class Clock:
    now_s: Callable[[], float] = time.monotonic
    wall_s: Callable[[], float] = time.time
    """Seconds since 1970: dates in `retry-after` are compared with it."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
