"""The last lines of what a trial's guests wrote, as far as they help to see why it is not PASS. Bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.model.trial import Outcome
from arci.store.logs import read_kept

__all__ = ["MOST_BYTES", "MOST_LINES", "Excerpt", "excerpts"]

MOST_LINES, MOST_BYTES = 12, 4000
"""Of one stream."""
_MOST_STREAMS = 8


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The end of one stream."""

    role: str
    stream: str
    text: str
    """As it was written (hostile): at most `MOST_LINES` lines and `MOST_BYTES` bytes. Bytes that are no UTF-8 are
    written as escapes."""
    total_bytes: int
    """Of the whole stream."""
    is_whole: bool


def excerpts(directory: Path, record: Mapping[str, Any]) -> tuple[Excerpt, ...]:
    """The ends of the streams that said anything. The agent's; the grader's stderr (an oracle may tell its reasons
    there); of a broken trial everybody's. What cannot be read back is left out: the gate has named it."""
    found = []
    for role, stream, facts in _streams(record):
        try:
            kept = read_kept(directory, str(record.get("trial_id")), role, stream, facts)
        except (OSError, ValueError, KeyError, TypeError):
            continue
        last = _last(kept.tail if kept.left_out > 0 else kept.kept)
        if last:
            found.append(Excerpt(role, stream, _text(last), kept.total, len(last) == kept.total))
    return tuple(found[:_MOST_STREAMS])


def _streams(record: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    logs = record.get("logs")
    roles = sorted(logs, key=lambda role: (role != "agent", role)) if isinstance(logs, Mapping) else []
    is_broken = record.get("outcome") == Outcome.ERROR
    for role in roles:
        streams = logs[role] if isinstance(logs, Mapping) else None
        for stream in ("stderr", "stdout"):
            facts = streams.get(stream) if isinstance(streams, Mapping) else None
            tells = role == "agent" or is_broken or (role, stream) == ("grader", "stderr")
            if tells and isinstance(facts, Mapping) and facts.get("bytes"):
                yield role, stream, facts


def _last(data: bytes) -> bytes:
    """The last lines, within the bounds; a character cut in two at the front is left out."""
    lines = data[-MOST_BYTES:].splitlines(keepends=True)[-MOST_LINES:]
    last = b"".join(lines)
    while last and len(last) < len(data) and 0x80 <= last[0] < 0xC0:
        last = last[1:]
    return last


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
