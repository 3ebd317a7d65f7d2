"""`arci ARGS` that ends itself in the middle of a run: nobody outside must be quick enough to do it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["start_halting"]

_PROGRAM = """
import os
import signal
import sys
import threading
import time

path, mark, least, number = sys.argv[1], os.fsencode(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
del sys.argv[1:5]


def halt():
    while True:
        try:
            with open(path, "rb") as file:
                data = file.read()
            if (data.count(mark) if mark else len(data)) >= least:
                break
        except FileNotFoundError:
            pass
        time.sleep(0.002)
    os.kill(os.getpid(), number)


threading.Thread(target=halt, daemon=True).start()
from arci.cli import main
main()
"""


def start_halting(file: Path, mark: str, least: int, number: int, *args: object) -> subprocess.Popen[str]:
    """`arci ARGS` at work, which is sent the signal `number` once `file` holds `mark` so many times; with no mark, so
    many bytes."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(file), mark, str(least), str(int(number)), *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"},
        start_new_session=True,
    )
