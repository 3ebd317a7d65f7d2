"""Where a command is started, and how a file of the project is named there. Reads which files there are.

Agents and servers start in a private directory of their own: `server.py` alone would not be found.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

__all__ = ["Place", "placed"]


class Place(StrEnum):
    """Whose command it is."""

    AGENT = "agent"
    SERVER = "server"
    PROJECT = "project"


def placed(argv: tuple[str, ...], place: Place, root: Path) -> tuple[str, ...]:
    """`argv` with `{source}/` before every word that is a file below `root`; a grader starts there and needs none."""
    if place is Place.PROJECT:
        return argv
    return tuple(f"{{source}}/{word.removeprefix('./')}" if _is_file(root, word) else word for word in argv)


def _is_file(root: Path, word: str) -> bool:
    if word.startswith(("/", "-", "~")) or ".." in word.split("/"):
        return False
    try:
        return (root / word).is_file()
    except (OSError, ValueError):
        return False
