"""Whole reads and writes of a guest's descriptors, which may take or give any part of what is asked for."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, NoReturn

__all__ = ["leave", "read_all", "write_all"]


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


def leave(code: int) -> NoReturn:
    """End the process now, with everything printed: nobody's threads and exit handlers are waited for."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code & 0xFF)
