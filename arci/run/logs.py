"""What the guests of a trial printed: taken as it comes, then bounded and masked for the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from arci.errors import EngineError
from arci.isolation.base import Chunk, Guest
from arci.isolation.output import LogTail
from arci.run.masking import Masks
from arci.store.logs import LogTail as KeptLog
from arci.store.logs import describe_logs

__all__ = ["GuestLog", "Kept", "keep_logs"]

_STREAMS = ("stdout", "stderr")

Kept = dict[str, dict[str, KeptLog]]
"""Role -> stream -> what is stored of it."""


class GuestLog:
    """Both streams of one guest. `is_open`: more may come to be counted."""

    def __init__(self, witness: Callable[[str, bytes], None] = lambda stream, data: None) -> None:
        """`witness` is shown each piece of a stream as it comes."""
        self._witness = witness
        self.streams = {stream: LogTail() for stream in _STREAMS}
        self.is_open = False

    def add(self, stream: str, data: bytes) -> None:
        """Count and keep a piece of a stream."""
        self.streams[stream].add(data)
        self._witness(stream, data)

    async def tee(self, guest: Guest) -> AsyncIterator[Chunk]:
        """The guest's output as it comes, counted here. An engine that loses it loses a log, not a trial."""
        self.is_open = True
        try:
            async for chunk in guest.output():
                self.add(chunk.stream, chunk.data)
                yield chunk
        except EngineError:
            pass
        finally:
            self.is_open = False

    async def drain(self, guest: Guest) -> None:
        """Take the guest's output to its end."""
        async for _ in self.tee(guest):
            pass


def keep_logs(logs: Mapping[str, GuestLog], masks: Masks) -> tuple[Kept, dict[str, Any]]:
    """What is stored, and the record's `logs`: role -> stream -> `bytes` (exact), `head_bytes`, `kept_sha256`.

    A log that cannot be processed is missing (`kept_sha256` null) and harms nothing else: the verdict stands.
    """
    kept: Kept = {}
    entries: dict[str, Any] = {}
    for role, log in logs.items():
        kept[role], entries[role] = {}, {}
        for stream, tail in log.streams.items():
            try:
                kept[role][stream] = _keep(tail, masks)
                entries[role][stream] = describe_logs({role: {stream: kept[role][stream]}})[role][stream]
            except Exception:
                kept[role].pop(stream, None)
                entries[role][stream] = {"bytes": tail.total_bytes, "head_bytes": 0, "kept_sha256": None}
    return kept, entries


def _keep(log: LogTail, masks: Masks) -> KeptLog:
    if not log.omitted_bytes:
        return KeptLog(masks.output(log.head + log.tail), b"", log.total_bytes)
    return KeptLog(masks.before_cut(log.head), masks.after_cut(log.tail), log.total_bytes)
