"""What a guest is given before its first instruction: directories and files, written by us below its pod's own."""

from __future__ import annotations

import os

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.model.trial import Role

__all__ = ["lay_down"]


def lay_down(role: Role, process: ProcessSpec) -> None:
    """Make the directories and files of `process`. EngineError names the path that cannot be made."""
    path = ""
    try:
        for path in process.directories:
            os.makedirs(_absolute(path), exist_ok=True)  # noqa: PTH103  (on the path of every trial, as all here)
        for path, data in process.files.items():
            os.makedirs(os.path.dirname(_absolute(path)), exist_ok=True)  # noqa: PTH103, PTH120
            with open(path, "wb") as file:  # noqa: PTH123
                file.write(data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EngineError(f"start {role}", f"{path!r} cannot be made: {reason}") from error


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("it is not an absolute path")
    return path
