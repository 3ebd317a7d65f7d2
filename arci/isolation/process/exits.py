"""How the end of a child process is noticed on the event loop, without reaping it. Linux: pidfd; BSD, macOS: kqueue."""

from __future__ import annotations

import os
import select
import sys

__all__ = ["ExitWatch"]


class ExitWatch:
    """A descriptor that becomes readable when the child `pid` has ended.

    The child stays a zombie until its owner waits for it, so its pid and group cannot be used again before that.
    """

    __slots__ = ("_kqueue", "fd")

    def __init__(self, pid: int) -> None:
        if sys.platform == "linux":
            self.fd = os.pidfd_open(pid)
        else:
            self._kqueue = _kqueue_of(pid)
            self.fd = self._kqueue.fileno()

    def has_ended(self) -> bool:
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        if sys.platform == "linux":
            os.close(self.fd)
        else:
            self._kqueue.close()


if sys.platform != "linux":

    def _kqueue_of(pid: int) -> select.kqueue:
        queue = select.kqueue()
        event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        queue.control([event], 0)
        return queue
