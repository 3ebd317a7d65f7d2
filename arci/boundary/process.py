"""The environment's process seen from the recorder: its pipes, its log, its end. Reaps whatever else is orphaned."""

from __future__ import annotations

import os
import select
import time

from arci.boundary.message import EnvironmentEnded, EnvironmentSaid
from arci.boundary.outlet import Outlet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

    from arci.boundary.environment import Pipes
    from arci.boundary.message import Message

__all__ = ["ProcessPort"]

TAIL_BYTES = 16 * 1024
FORWARD_BYTES = 256 * 1024
"""Bytes of the environment's log that are passed on; all of it is read."""
_KILL = 9
_PIPE_BUF = 4096
_MOST_READS = 64
_CLOSED_S = 1.0
"""A process that has closed its answers and still lives after this is killed."""


class ProcessPort:
    """One environment process."""

    def __init__(self, pipes: Pipes) -> None:
        for fd in (pipes.ask, pipes.answers, pipes.stderr):
            os.set_blocking(fd, False)
        self._pid = pipes.pid
        self._answers: Optional[int] = pipes.answers
        self._stderr: Optional[int] = pipes.stderr
        self._ask = Outlet(pipes.ask)
        self._log = Outlet(2, _PIPE_BUF)
        self._tail = bytearray()
        self._logged = 0
        self._closed_at: Optional[float] = None
        self._is_asked = True
        self.is_alive = True

    @property
    def pending(self) -> int:
        """Bytes that the environment has not taken yet."""
        return self._ask.pending

    @property
    def patience_s(self) -> Optional[float]:
        """How long to wait for events before the process is looked after; None once it is gone."""
        if not self.is_alive:
            return None
        return 0.25 if self._closed_at is None else 0.01

    def interests(self) -> List[Tuple[int, int]]:
        """Descriptors to poll."""
        interests = [(fd, select.POLLIN) for fd in (self._answers, self._stderr) if fd is not None]
        if self._ask.pending:
            interests.append((self._ask.fd, select.POLLOUT))
        if self._log.pending:
            interests.append((self._log.fd, select.POLLOUT))
        return interests

    def ready(self, fd: int) -> List[Message]:
        """What an event on one of these descriptors brings."""
        if fd == self._answers:
            return self._read_answers()
        if fd == self._stderr:
            self._read_log()
        elif fd == self._log.fd:
            self._log.flush_once()
        return []

    def ask(self, data: bytes) -> None:
        self._ask.put(data)

    def flush(self) -> None:
        self._ask.flush()

    def end_input(self) -> None:
        """Nothing is asked any more: it may end."""
        if self._is_asked:
            self._is_asked = False
            self._ask.give_up()
            os.close(self._ask.fd)

    def tail(self) -> str:
        """The last of what it logged, up to this moment."""
        for _ in range(_MOST_READS):
            if not self._read_log():
                break
        return self._tail.decode("utf-8", "replace")

    def reap(self) -> List[Message]:
        """Collect ended processes; the message that the environment is one of them, after what it had still said."""
        status = self._collected()
        if status is None:
            if self._closed_at is not None and self.is_alive and time.monotonic() - self._closed_at > _CLOSED_S:
                self.kill()
            return []
        self.is_alive = False
        messages: List[Message] = []
        while self._answers is not None:
            found = self._read_answers()
            if not found:
                break
            messages += found
        return [*messages, EnvironmentEnded(_in_words(status))]

    def kill(self) -> None:
        if self.is_alive:
            os.kill(self._pid, _KILL)

    def end(self) -> None:
        """Kill it, whatever it is doing, and wait until it is gone."""
        if self.is_alive:
            self.kill()
            os.waitpid(self._pid, 0)
            self.is_alive = False

    def pass_on_log(self) -> None:
        """The last of the log, as far as whoever reads it takes it without waiting."""
        self.tail()
        poll = select.poll()
        poll.register(self._log.fd, select.POLLOUT)
        while self._log.pending and poll.poll(0):
            self._log.flush_once()

    def _collected(self) -> Optional[int]:
        """The wait status of the environment if it has ended. As PID 1, every orphan is collected on the way."""
        wanted = -1 if os.getpid() == 1 else self._pid
        status = None
        while self.is_alive or wanted == -1:
            try:
                pid, ended = os.waitpid(wanted, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == self._pid:
                status = ended
            if pid == 0 or wanted != -1:
                break
        return status

    def _read_answers(self) -> List[Message]:
        data = _read(self._answers)
        if data == b"":
            self._answers = None
            self._closed_at = time.monotonic()
        return [EnvironmentSaid(data)] if data else []

    def _read_log(self) -> bool:
        """Read a piece of the log: the end of it is kept, the beginning passed on. False if there was none."""
        data = _read(self._stderr)
        if data == b"":
            self._stderr = None
        if not data:
            return False
        self._tail += data
        del self._tail[:-TAIL_BYTES]
        if self._logged < FORWARD_BYTES:
            self._log.put(data[: FORWARD_BYTES - self._logged])
            self._logged += len(data)
            if self._logged >= FORWARD_BYTES:
                self._log.put(b"\narci: the rest of the environment's log is not passed on\n")
        return True


def _read(fd: Optional[int]) -> Optional[bytes]:
    """Bytes that are there now: b"" at the end of the stream, None if there are none yet."""
    if fd is None:
        return b""
    try:
        return os.read(fd, 65536)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _in_words(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by signal {os.WTERMSIG(status)}"
    return f"exit status {os.WEXITSTATUS(status)}"
