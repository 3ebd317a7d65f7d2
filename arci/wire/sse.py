"""Server-sent events: a stream cut into its events, and the data of each. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Tuple

__all__ = ["data_of", "split_events"]


def split_events(stream: bytes) -> Tuple[List[bytes], bytes]:
    """The events of a stream, each with the empty line that ends it, and what is left of one that has not ended."""
    events: List[bytes] = []
    start = at = 0
    while True:
        end = stream.find(b"\n", at)
        if end < 0:
            return events, stream[start:]
        line, at = stream[at:end], end + 1
        if line in (b"", b"\r"):
            events.append(stream[start:at])
            start = at


def data_of(event: bytes) -> str:
    """Its `data` lines, joined; "" where it has none (a comment, a ping)."""
    lines = [line.rstrip("\r") for line in event.decode("utf-8", "replace").split("\n")]
    found = [line[5:] for line in lines if line.startswith("data:")]
    return "\n".join(text[1:] if text.startswith(" ") else text for text in found)
