"""One process seen from the recorder: its pipes, its log, its end. Whoever collects ended processes tells it so."""

from __future__ import annotations

import os
import select
import time

from arci.boundary.message import Ended, Said
from arci.boundary.outlet import Outlet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

    from arci.boundary.environment import Pipes
    from arci.boundary.message import Message

__all__ = ["FORWARD_BYTES", "TAIL_BYTES", "ProcessPort"]

TAIL_BYTES = 16 * 1024
FORWARD_BYTES = 256 * 1024
"""Bytes of a process's log that are passed on; all of it is read."""
_KILL = 9
_PIPE_BUF = 4096
_MOST_READS = 64
_CLOSED_S = 1.0
"""A process that has closed its answers and still lives after this is killed."""


class ProcessPort:
    """One process of the environment, by the name that the engine knows it by."""

    def __init__(self, name: str, pipes: Pipes, *, leads_group: bool = False) -> None:
        """`leads_group`: what it starts is in a process group that it leads."""
        for fd in (pipes.ask, pipes.answers, pipes.stderr):
            os.set_blocking(fd, False)
        self.name = name
        self.pid = pipes.pid
        self._leads_group = leads_group
        self._answers: Optional[int] = pipes.answers
        self._stderr: Optional[int] = pipes.stderr
        self._ask = Outlet(pipes.ask)
        self._log = Outlet(2, _PIPE_BUF)
        self._tail = bytearray()
        self._logged = 0
        self._closed_at: Optional[float] = None
        self._ends_input = False
        self._is_asked = True
        self.is_alive = True

    @property
    def pending(self) -> int:
        """Bytes that it has not taken yet."""
        return self._ask.pending

    @property
    def patience_s(self) -> Optional[float]:
        """How long to wait for events before it is looked after; None once it is gone."""
        if not self.is_alive:
            return None
        return 0.25 if self._closed_at is None else 0.01

    def interests(self, is_paused: bool) -> List[Tuple[int, int]]:
        """Descriptors to poll. `is_paused`: read no answers, because those before are not taken yet."""
        answers = None if is_paused else self._answers
        interests = [(fd, select.POLLIN) for fd in (answers, self._stderr) if fd is not None]
        if self._ask.pending:
            interests.append((self._ask.fd, select.POLLOUT))
        return interests

    @property
    def has_log(self) -> bool:
        """Something of its log waits to be passed on."""
        return self._log.pending > 0

    def ready(self, fd: int) -> List[Message]:
        """What an event on one of these descriptors brings."""
        if fd == self._answers:
            return self._read_answers()
        if fd == self._stderr:
            self._read_log()
        return []

    def pass_on(self) -> None:
        """Stderr takes a piece of its log now."""
        self._log.flush_once()

    def ask(self, data: bytes) -> None:
        self._ask.put(data)

    def flush(self) -> None:
        self._ask.flush()
        if self._ends_input and not self._ask.pending:
            self._close_input()

    def end_input(self) -> None:
        """Nothing is asked any more once what was asked before is written: it may end."""
        self._ends_input = True
        self.flush()

    def tail(self) -> str:
        """The last of what it logged, up to this moment."""
        for _ in range(_MOST_READS):
            if not self._read_log():
                break
        return self._tail.decode("utf-8", "replace")

    def look_after(self) -> None:
        """End one that answers no more and does not go."""
        if self._closed_at is not None and self.is_alive and time.monotonic() - self._closed_at > _CLOSED_S:
            self.signal(_KILL)

    def collected(self, status: int) -> List[Message]:
        """It has ended with this wait status; the message of that comes after what it had still said."""
        self.is_alive = False
        messages: List[Message] = []
        while self._answers is not None:
            found = self._read_answers()
            if not found:
                break
            messages += found
        return [*messages, Ended(self.name, _in_words(status))]

    def signal(self, number: int) -> None:
        """To it, and to what it has started as far as that is in its group."""
        if self._leads_group:
            self.signal_group(number)
        elif self.is_alive:
            os.kill(self.pid, number)

    def signal_group(self, number: int) -> None:
        """Even after its own end, as long as it has not been collected."""
        if self._leads_group and self.is_alive:
            try:  # noqa: SIM105  # contextlib costs a guest its import
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                pass  # it is gone, or nothing is left but what has changed its user id

    def end(self) -> None:
        """Kill it, whatever it is doing, and wait until it is gone."""
        if self.is_alive:
            self.signal(_KILL)
            os.waitpid(self.pid, 0)
            self.is_alive = False

    def _close_input(self) -> None:
        if self._is_asked:
            self._is_asked = False
            self._ask.give_up()
            os.close(self._ask.fd)

    def _read_answers(self) -> List[Message]:
        data = _read(self._answers)
        if data == b"":
            self._close(self._answers)
            self._answers = None
            self._closed_at = time.monotonic()
        return [Said(self.name, data)] if data else []

    def _read_log(self) -> bool:
        """Read a piece of the log: the end of it is kept, the beginning passed on. False if there was none."""
        data = _read(self._stderr)
        if data == b"":
            self._close(self._stderr)
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

    @staticmethod
    def _close(fd: Optional[int]) -> None:
        if fd is not None:
            os.close(fd)


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
