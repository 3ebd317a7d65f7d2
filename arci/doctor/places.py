"""What of the machine that `arci` runs on matters, whatever the back end: interpreter, `arci-init`. Reads it."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import arci
from arci.doctor.finding import Health, Line
from arci.isolation.process.native import find_init

__all__ = ["machine_lines", "process_lines"]

_FEW_BYTES = 512 << 20
_REINSTALL = "pip install --force-reinstall arci, or `make setup` in a checkout"


def machine_lines() -> Iterator[Line]:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    place = Path(arci.__file__).parent
    yield Line("arci", Health.OK, f"{arci.__version__} in {place}, {python} ({sys.executable})")
    yield _init()


def process_lines() -> Iterator[Line]:
    yield Line(
        "isolation",
        Health.WARNING,
        "processes isolate nothing: the agent can read your files, the oracle and the world's state",
        "--isolation docker for anything that you do not trust",
    )
    directory = tempfile.gettempdir()
    disk = os.statvfs(directory)
    free = disk.f_bavail * disk.f_frsize
    health = Health.OK if free >= _FEW_BYTES else Health.WARNING
    yield Line("disk", health, f"{free >> 20} MiB free in {directory}", "" if health is Health.OK else "set TMPDIR")


def _init() -> Line:
    native = Path(arci.__file__).parent / "_native"
    there = sorted(path.name.removeprefix("arci-init-") for path in native.glob("arci-init-*"))
    if not there:
        return Line("arci-init", Health.PROBLEM, f"none in {native}", _REINSTALL)
    here = find_init()
    detail = f"for {', '.join(there)}; {f'{here.name} runs here' if here else 'none runs on this machine'}"
    if here is None:
        remedy = (
            "process isolation goes without it: what an agent leaves running may live on. Containers have their own"
        )
        return Line("arci-init", Health.WARNING, detail, remedy)
    return Line("arci-init", Health.OK, detail)
