"""`arci ARGS` that ends itself in the middle of a run: nobody outside must be quick enough to do it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["halted", "start_halting"]

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


def start_halting(
    file: Path, mark: str, least: int, number: int, *args: object, env: Mapping[str, str | None] | None = None
) -> subprocess.Popen[str]:
    """`arci ARGS` at work, which is sent the signal `number` once `file` holds `mark` so many times; with no mark, so
    many bytes. `env` adds to the environment; None takes a variable away."""
    wanted: dict[str, str | None] = {**os.environ, "GITHUB_STEP_SUMMARY": None, **(env or {})}
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(file), mark, str(least), str(int(number)), *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in wanted.items() if value is not None},
        start_new_session=True,
    )


@contextmanager
def halted(run: Path, *args: object, env: Mapping[str, str | None] | None = None) -> Iterator[subprocess.Popen[str]]:
    """`arci ARGS` that stands still as soon as the first trial of the run at `run` is recorded; it goes on once the
    context is left, and is killed where that is by an exception."""
    process = start_halting(run / "trials.jsonl", "\n", 1, signal.SIGSTOP, *args, env=env)
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert process.poll() is None, process.communicate()
        yield process
        process.send_signal(signal.SIGCONT)
    except BaseException:
        process.kill()
        process.communicate()
        raise
