"""Which `arci-init` this machine can run, if any."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from pathlib import Path

import arci

__all__ = ["find_init"]

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@functools.cache
def find_init() -> Path | None:
    """The path of the static `arci-init` of this machine's kind, or None where there is none that runs."""
    machine = _MACHINES.get(platform.machine().lower())
    if sys.platform != "linux" or machine is None:
        return None
    path = Path(arci.__file__).parent / "_native" / f"arci-init-{machine}"
    if not os.access(path, os.X_OK):
        return None
    try:
        answer = subprocess.run([path, "--version"], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return path if answer.returncode == 0 else None
