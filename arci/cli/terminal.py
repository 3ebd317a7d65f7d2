"""How wide what is told may be: the terminal's columns where it is told to one."""

from __future__ import annotations

import os
from typing import TextIO

__all__ = ["width_of"]


def width_of(stream: TextIO) -> int | None:
    """Columns of the terminal that `stream` is; None where it is none, or has none."""
    if not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None
