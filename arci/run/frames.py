"""Bytes of the control channel into JSON objects: bounded, strict, and never deeper than Python can go. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

__all__ = ["MOST_CHANNEL_BYTES", "MOST_DEPTH", "MOST_LINE_BYTES", "FrameError", "LineCutter", "parse_object"]

MOST_LINE_BYTES = 64 << 20
"""One frame: a tool answer of 8 MiB, escaped, fits several times."""
MOST_CHANNEL_BYTES = 512 << 20
"""All frames of one trial."""
MOST_DEPTH = 300
"""Nesting of one frame; what is written down again must not meet Python's recursion limit."""


class FrameError(ValueError):
    """The other side does not speak the protocol."""


class LineCutter:
    """Cuts a byte stream at 0x0A; the pieces may be cut anywhere. FrameError past the byte caps."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._seen_bytes = 0
        self._total_bytes = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that `data` completes, without their ends."""
        self._total_bytes += len(data)
        if self._total_bytes > MOST_CHANNEL_BYTES:
            raise FrameError(f"more than {MOST_CHANNEL_BYTES} bytes on the control channel")
        self._rest += data
        while (end := self._rest.find(b"\n", self._seen_bytes)) >= 0:
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            self._seen_bytes = 0
            yield line
        self._seen_bytes = len(self._rest)  # what has been searched is not searched again
        if self._seen_bytes > MOST_LINE_BYTES:
            raise FrameError(f"a frame of more than {MOST_LINE_BYTES} bytes")

    @property
    def rest(self) -> bytes:
        """The bytes after the last line end."""
        return bytes(self._rest)


def parse_object(line: bytes) -> dict[str, Any]:
    """The JSON object of one line. FrameError for anything else, NaN, infinity and endless nesting included."""
    try:
        value = json.loads(line, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"a line that is no JSON: {_quoted(line)} ({error})") from error
    if not isinstance(value, dict):
        raise FrameError(f"a line that is no JSON object: {_quoted(line)}")
    if line.count(b"[") + line.count(b"{") > MOST_DEPTH and _depth(value) > MOST_DEPTH:
        raise FrameError(f"a frame nested more than {MOST_DEPTH} deep")
    return value


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [child for item in level for child in _children(item)]
    return depth


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no finite number")
    return value


def _quoted(line: bytes) -> str:
    return repr(line[:120].decode("utf-8", "replace"))
