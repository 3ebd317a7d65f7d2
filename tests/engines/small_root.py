"""The root file system of another machine: an engine's programs, what they load, and nothing of this one's paths."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

__all__ = ["make_root"]

_DIRECTORIES = ("dev", "etc", "proc", "root", "run", "sys", "tmp", "usr/bin", "usr/sbin", "var/lib", "var/run")
_FILES = {"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"}


def make_root(root: Path, programs: Iterable[str]) -> None:
    """Programs that this machine does not have are left out: an engine says itself what it lacks."""
    for name in _DIRECTORIES:
        (root / name).mkdir(parents=True)
    for name, text in _FILES.items():
        (root / name).write_text(text, encoding="ascii")
    found = [Path(there) for name in programs if (there := shutil.which(name))]
    for path in {*found, *(library for program in found for library in _libraries(program))}:
        target = root / str(path).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def _libraries(program: Path) -> list[Path]:
    told = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", told)]
