"""Machines for other engines: namespaces in which one program runs, and all that it started ends with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import pytest

__all__ = ["Machine", "directory_for", "machine", "skip_unless_it_can_be_had"]

SCRIPT = Path(__file__).parents[2] / "scripts" / "engines.sh"
HOUSE = Path(__file__).with_name("house.py")
LIMIT_S = 180.0
_HOME = Path("/var/tmp")
_STOP_S = 30.0
_LISTENER = 3


@dataclass(frozen=True)
class Machine:
    """`process` ends when the machine does, and the machine ends with it."""

    directory: Path
    process: subprocess.Popen[bytes]

    @property
    def said(self) -> str:
        """The end of what its program wrote."""
        return (self.directory / "log").read_text(errors="replace")[-3000:]

    def kill_engine(self) -> None:
        """SIGKILL its program; what the program started goes on, as on a real machine."""
        number = (self.directory / "engine").read_text()
        subprocess.run(["nsenter", f"--target={self._house}", "--pid", "kill", "-KILL", number], check=True)

    def start_engine(self) -> None:
        """Start the program again; nothing happens while it runs."""
        os.kill(self._house, signal.SIGUSR1)

    @property
    def _house(self) -> int:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def stop(self) -> None:
        """End it: the program first, so that it can tidy up, then everything."""
        if self.process.poll() is None:
            os.kill(self._house, signal.SIGTERM)
            try:
                self.process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


_PROGRAMS = ("setpriv", "unshare", "nsenter", "ip", "docker", "dockerd", "podman", "rootlesskit", "newuidmap")


def skip_unless_it_can_be_had() -> None:
    """Install what other engines take, where that may be done; skip the test with the reason where it may not."""
    if os.geteuid() != 0:
        pytest.skip("another engine is started by root alone")
    done = subprocess.run(["sh", str(SCRIPT)], capture_output=True, text=True, check=False, timeout=600)
    if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"needs {', '.join(missing)}: {done.stderr[-500:]}")


@contextmanager
def directory_for(name: str) -> Iterator[Path]:
    """A short path (sockets lie below it) on a file system on which engines can keep layers; gone afterwards.

    What a test session that was killed left is removed first: it carries the session's process id.
    """
    for left in _HOME.glob(f"arci-{name}-*-*"):
        if not Path("/proc", left.name.split("-")[2]).exists():
            shutil.rmtree(left, ignore_errors=True)
    directory = Path(tempfile.mkdtemp(prefix=f"arci-{name}-{os.getpid()}-", dir=_HOME))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@contextmanager
def machine(
    directory: Path,
    argv: Sequence[str],
    answers: Callable[[], bool],
    *,
    listener: socket | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[Machine]:
    """`argv` at work, once `answers()`. Mounts within are its own, so nothing is mounted here when it has ended."""
    wrapped = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    wrapped += [sys.executable, "-I", str(HOUSE), str(directory), *argv]
    known = {"PATH": os.environ["PATH"], "HOME": "/root", **(env or {})}
    if listener is not None:
        known["LISTEN_FDS"] = "1"
    with (directory / "log").open("ab") as log:
        process = subprocess.Popen(
            wrapped,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=known,
            pass_fds=(_LISTENER,) if listener is not None else (),
            preexec_fn=None if listener is None else lambda: os.dup2(listener.fileno(), _LISTENER),
        )
    found = Machine(directory, process)
    try:
        _await(found, answers)
        yield found
    finally:
        found.stop()


def _await(found: Machine, answers: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not answers():
        assert found.process.poll() is None, f"the machine has ended:\n{found.said}"
        assert time.monotonic() < end, f"the engine does not answer:\n{found.said}"
        time.sleep(0.1)
