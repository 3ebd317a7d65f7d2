"""Processes of a run that outlived their guest, found in /proc. Where there is no /proc, none is found."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

__all__ = ["descendants", "kill_stragglers", "newest_pid", "stragglers"]

_PROC = Path("/proc")


def descendants(pid: int) -> list[int]:
    """Every process below `pid` whose line of parents is unbroken, whatever session it made for itself."""
    found: list[int] = []
    queue = [pid]
    while queue:
        children = _children(queue.pop())
        found += children
        queue += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    tasks = f"/proc/{pid}/task"
    with contextlib.suppress(OSError):
        for task in os.listdir(tasks):  # noqa: PTH208  (names alone; this is on the path of every trial)
            with contextlib.suppress(OSError):
                children += map(int, Path(tasks, task, "children").read_bytes().split())
    return children


def newest_pid() -> int:
    """The last pid that the kernel gave out; 0 where it does not say."""
    try:
        return int((_PROC / "sys/kernel/ns_last_pid").read_bytes())
    except (OSError, ValueError):
        return 0


def stragglers(home_prefix: str, since_pid: int = 0) -> list[int]:
    """Running processes whose HOME begins with `home_prefix`, lowest pid first.

    `since_pid` leaves out lower pids, unless the kernel has begun again from below meanwhile.
    """
    if newest_pid() < since_pid:
        since_pid = 0
    mark = b"HOME=" + os.fsencode(home_prefix)
    with contextlib.suppress(OSError):
        pids = sorted(int(name) for name in os.listdir(_PROC) if name.isdigit())  # noqa: PTH208  (names alone)
        return [pid for pid in pids if pid >= since_pid and _has(pid, mark)]
    return []


def _has(pid: int, mark: bytes) -> bool:
    try:
        return any(entry.startswith(mark) for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:  # gone, a zombie, or somebody else's
        return False


def kill_stragglers(home_prefix: str, since_pid: int = 0) -> None:
    """Kill what `stragglers` finds, until it finds nothing or a few rounds have passed (a tree may be forking)."""
    for _round in range(20):
        pids = stragglers(home_prefix, since_pid)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
