"""Writing that survives a crash: synced appends of whole lines, atomic replacement, a lock against a second writer.

Every operating system error becomes a StoreError that names the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from arci.errors import StoreError

__all__ = ["AppendFile", "Lock", "append_copy", "naming", "replace_file", "sync_directory", "write_file"]

_AGAIN = "and call arci again; a run is continued by --resume"
_MORE_FILES = f"allow more open files (ulimit -n) or fewer --workers, {_AGAIN}"
_REMEDIES = {
    errno.ENOSPC: f"make room on that file system, {_AGAIN}",
    errno.EDQUOT: f"make room within your quota, {_AGAIN}",
    errno.EFBIG: f"allow larger files (ulimit -f), {_AGAIN}",
    errno.EROFS: f"make that file system writable, {_AGAIN}",
    errno.EIO: f"see what ails that disk (dmesg), {_AGAIN}",
    errno.EMFILE: _MORE_FILES,
    errno.ENFILE: _MORE_FILES,
}


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An OSError leaves as a StoreError with the file's name in front, and what helps where that is known."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}", hint=_REMEDIES.get(error.errno or 0)) from error


class AppendFile:
    """A file of lines, open for appending. A torn last line that a crash left is cut when it is opened.

    `cut_bytes`: how much was cut. One writer; not thread-safe.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with naming(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            size = os.fstat(self._fd).st_size
            self._size = _end_of_last_line(self._fd, size)
            self.cut_bytes = size - self._size
            if self.cut_bytes:
                os.ftruncate(self._fd, self._size)
                os.fsync(self._fd)

    def append(self, lines: bytes) -> None:
        """One write and one fsync. If either fails nothing of `lines` stays, so the next starts a line of its own."""
        with naming(self.path):
            try:
                _write_at(self._fd, lines, self._size)
                os.fsync(self._fd)
            except OSError:
                os.ftruncate(self._fd, self._size)
                raise
        self._size += len(lines)

    def close(self) -> None:
        os.close(self._fd)


class Lock:
    """An exclusive lock on a file, held until `close` or the end of the process, however it ends."""

    def __init__(self, path: Path) -> None:
        with naming(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise StoreError(f"{path.parent}: another arci is writing this run ({path.name} is locked)") from error
        except OSError as error:
            self.close()
            raise StoreError(f"{path}: cannot be locked: {error.strerror or error}") from error

    def close(self) -> None:
        os.close(self._fd)


def replace_file(path: Path, data: bytes) -> None:
    """Readers see the old content or the new one, whole, whenever the machine stops."""
    fresh = path.with_name(path.name + ".new")
    with naming(path):
        try:
            write_file(fresh, data)
            fresh.replace(path)
        except OSError:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)  # it takes room that the next try needs
            raise
    sync_directory(path.parent)


def write_file(path: Path, data: bytes) -> None:
    """The whole file, synced. OSError as it comes."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        _write_at(fd, data, 0)
        os.fsync(fd)
    finally:
        os.close(fd)


def append_copy(sources: Iterable[Path], path: Path) -> int:
    """The files of lines one after the other in a new, synced file at `path`; returns how many lines it has."""
    lines = 0
    with naming(path), path.open("wb") as target:
        for source in sources:
            with naming(source), source.open("rb") as file:
                for line in file:
                    target.write(line)
                    lines += 1
        target.flush()
        os.fsync(target.fileno())
    return lines


def sync_directory(path: Path) -> None:
    """Makes names that were created or replaced in a directory last."""
    with naming(path):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _write_at(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:  # a nearly full disk takes a part, and says so at the next write only
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def _end_of_last_line(fd: int, size: int) -> int:
    """Offset just after the last newline of the file, 0 if there is none."""
    step, end = 1 << 16, size
    while end:
        start = max(0, end - step)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
