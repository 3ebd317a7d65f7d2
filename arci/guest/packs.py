"""Modules of a guest in one file, compiled by the interpreter that reads it. To look for seventy files one by one costs
a recorder half as much again as what is in them.
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import List, Tuple

    Pack = List[Tuple[str, str, CodeType]]

__all__ = ["BEFORE", "PACKS", "file_name", "unpack"]

PACKS = {
    "recorder": ("arci.boundary.recorder", "arci.boundary.environment"),
    "engine": (
        "arci.boundary.engine",
        "arci.boundary.host",
        "arci.boundary.loop",
        "arci.boundary.processes",
        "arci.boundary.sockets",
        "arci.boundary.toolset_source",
    ),
    "worker": ("arci.guest.worker",),
    "grader": ("arci.guest.grader",),
}
"""What each holds, with all that these import when they are imported. What a guest has unpacked before, such as the
recorder when it comes to its engine, need not be in it again: see `BEFORE`."""
BEFORE = {"engine": "recorder"}

_DIRECTORY = sys.pycache_prefix or os.path.join(os.path.dirname(os.path.abspath(__file__)), "__pycache__")


def file_name(name: str) -> str:
    return f"{name}.{sys.implementation.cache_tag}.pack"


def unpack(name: str) -> None:
    """Import what is in the pack: module name, file and code of each, needed ones first. Where no pack is, or one of
    another interpreter, nothing is done: everything can be imported as ever."""
    from _frozen_importlib_external import MAGIC_NUMBER  # that of importlib.util

    try:
        with open(os.path.join(_DIRECTORY, file_name(name)), "rb") as file:
            data = file.read()  # whole: marshal reads a file by the byte
    except OSError:
        return
    if data[: len(MAGIC_NUMBER)] != MAGIC_NUMBER:
        return
    modules = sys.modules
    pack: Pack = marshal.loads(memoryview(data)[len(MAGIC_NUMBER) :])
    for full_name, path, code in pack:
        if full_name in modules:
            continue
        package, _, last = full_name.rpartition(".")
        module = modules[full_name] = type(sys)(full_name)
        module.__file__ = path
        module.__package__ = package
        if os.path.basename(path) == "__init__.py":
            module.__package__, module.__path__ = full_name, [os.path.dirname(path)]
        exec(code, module.__dict__)
        if package:
            setattr(modules[package], last, module)
