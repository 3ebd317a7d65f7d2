"""What each guest imports before it does anything, by Python's own `-X importtime`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import arci

__all__ = ["GUESTS", "imports", "start_up"]

GUESTS = ("recorder", "worker", "grader")
_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(\s+)(\S+)")


def start_up(guest: str, top: int = 6) -> dict[str, object]:
    """Total import time in ms of one guest's start, the number of modules, and its dearest ones (self time, ms)."""
    launch = Path(arci.__file__).parent / "guest" / "launch.py"
    # Called without arguments it has imported what it starts with, and then says how it is called.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(launch), guest],
        capture_output=True,
        text=True,
        check=False,
    )
    return imports(done.stderr, top)


def imports(stderr: str, top: int = 6) -> dict[str, object]:
    """The same of what an interpreter with `-X importtime` wrote."""
    rows = [(int(m[1]), m[4]) for m in map(_LINE.search, stderr.splitlines()) if m]
    dearest = sorted(rows, reverse=True)[:top]
    return {
        "total_ms": round(sum(own for own, _ in rows) / 1000, 1),
        "modules": len(rows),
        "dearest": {name: round(own / 1000, 2) for own, name in dearest},
    }
