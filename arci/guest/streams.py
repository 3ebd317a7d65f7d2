"""Whole reads and writes of a guest's descriptors, which may take or give any part of what is asked for."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

__all__ = ["read_all", "write_all"]


def read_all(fd: int) -> bytes:
    """Everything until the end of the stream."""
    chunks: List[bytes] = []
    while True:
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


def write_all(fd: int, data: bytes) -> None:
    """All of `data`; OSError where nobody reads any more."""
    while data:
        data = data[os.write(fd, data) :]
