"""SIGTERM ends a command as Ctrl-C does: a clean stop, then its own exit code."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["terminable"]


@contextmanager
def terminable() -> Iterator[None]:
    """Within, SIGTERM raises KeyboardInterrupt; the process then ends with 143, after Ctrl-C with 130."""
    was_terminated = False

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal was_terminated
        was_terminated = True
        signal.raise_signal(signal.SIGINT)  # the event loop turns this one into a cancellation that cleans up

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(143 if was_terminated else 130) from None
    finally:
        signal.signal(signal.SIGTERM, before)
