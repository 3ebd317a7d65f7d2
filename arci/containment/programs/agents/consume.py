"""What is used up: processes, memory, disk, descriptors, notifications, the log."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def fork_bomb(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Every process forks for as long as it lives."""
    while True:
        with suppress(OSError):
            os.fork()


def fork_until_refused(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """As many processes as there may be, none of them waited for."""
    for number in range(100_000):
        try:
            child = os.fork()
        except OSError:
            return {"refused": True, "made": number > 0}
        if child == 0:
            time.sleep(3600)
            os._exit(0)
    return {"refused": False}


def threads_until_refused(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    wait = threading.Event()
    for _ in range(100_000):
        try:
            threading.Thread(target=wait.wait, daemon=True).start()
        except RuntimeError:
            return {"refused": True}
    return {"refused": False}


def zombies(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Hundreds of orphans, more than there may be processes, so that someone must bury them; then honest work."""
    for _ in range(200):
        while True:
            try:
                child = os.fork()
                break
            except OSError:  # an orphan is buried by PID 1, in its own time
                time.sleep(0.01)
        if child == 0:
            with suppress(OSError):
                os.fork()
            os._exit(0)
        os.waitpid(child, 0)
    tools.call("do")
    return {}


def memory_bomb(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    held = []
    while True:
        held.append(bytearray(b"x" * (32 << 20)))


def memory_of_child(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Its child is killed for memory; it goes on and does the work."""
    child = os.fork()
    if child == 0:
        memory_bomb(given, tools)
    status = os.waitpid(child, 0)[1]
    tools.call("do")
    return {"signal": os.WTERMSIG(status)}


def _fill(directory: str) -> dict[str, Any]:
    """Until it is refused, or four times what may be had."""
    chunk, written = b"x" * (1 << 20), 0
    try:
        with open(os.path.join(directory, "full"), "wb", buffering=0) as file:
            while written < 512 << 20:
                written += file.write(chunk)
    except OSError:
        return {"refused": True}
    return {"refused": False}


def fill_workdir(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    return _fill(given["workdir"])


def fill_tmp(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    return _fill("/tmp")


def fill_shm(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    return _fill("/dev/shm")


def fill_inodes(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Empty files, until it is refused."""
    directory = Path(given["workdir"], "many")
    directory.mkdir()
    try:
        for number in range(200_000):
            os.close(os.open(directory / str(number), os.O_CREAT | os.O_WRONLY))
    except OSError:
        return {"refused": True}
    return {"refused": False}


def open_files(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """200,000 descriptors, as far as it gets."""
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    try:
        for _ in range(200_000):
            os.open("/dev/null", os.O_RDONLY)
    except OSError:
        return {"refused": True}
    return {"refused": False}


def inotify_instances(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """All instances that there are for its uid."""
    libc, made = ctypes.CDLL(None), 0
    while made < 200_000 and libc.inotify_init1(0) >= 0:
        made += 1
    return {"made": made > 0, "refused": made < 200_000}


def spin(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Every processor, for ever."""
    for _ in range(8):
        if os.fork() == 0:
            break
    while True:
        pass


def two_gigabytes(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """2 GiB of output, or as much as there is time for; then it stays."""
    chunk = b"y\n" * (1 << 19)
    for _ in range(2048):
        written = 0
        while written < len(chunk):
            written += os.write(1, chunk[written:])
    time.sleep(3600)
    return {}


def endless_line(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """One line of 32 MiB on either stream, never ended."""
    chunk = b"z" * (1 << 20)
    for number in range(64):
        view = memoryview(chunk)
        while view:
            view = view[os.write(1 + number % 2, view) :]
    return {}


def no_text(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Every byte that there is, half characters, escapes; no newline at the end."""
    data = bytes(range(256)) * 64 + b"\xf0\x9f\x1b]0;title\x07\x1b[2J\xed\xa0\x80\r\x00\xff"
    os.write(1, data)
    os.write(2, data)
    sys.stdout.flush()
    return {"bytes": len(data)}
