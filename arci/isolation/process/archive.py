"""A tar archive of a path below a directory that an untrusted process may have filled: follows no link, capped."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import PurePosixPath

__all__ = ["archive"]

MOST_DEPTH = 64
"""Directories within directories that are walked; deeper is over the limit."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not block us


def archive(directory: str, path: str, limit_bytes: int) -> bytes:
    """The archive of `path`, relative to `directory`; its members are named from the last part of `path` on.

    Regular files, directories and symbolic links (as links) are taken; sockets, FIFOs and devices are left out.
    FileNotFoundError: no such path, or one that leads out or through a link. ValueError: more than `limit_bytes`.
    """
    parts = PurePosixPath(path).parts
    if path.startswith("/") or ".." in parts:
        raise FileNotFoundError(f"{path}: leads out of the working directory; a relative path within it is needed")
    writer = _Archive(limit_bytes)
    fd = os.open(directory, _DIRECTORY)
    try:
        for part in parts[:-1]:
            fd = _enter(fd, part, path)
        if parts:
            writer.add(fd, parts[-1], parts[-1], 0)
        else:
            writer.add_entries(fd, ".", 0)
    finally:
        os.close(fd)
    return writer.close()


def _enter(fd: int, part: str, path: str) -> int:
    try:
        below = os.open(part, _DIRECTORY, dir_fd=fd)
    except OSError as error:
        raise FileNotFoundError(f"{path}: no such path in the working directory") from error
    os.close(fd)
    return below


class _Archive:
    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._buffer = io.BytesIO()
        self._tar = tarfile.TarFile(fileobj=self._buffer, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape")

    def close(self) -> bytes:
        self._tar.close()
        return self._buffer.getvalue()

    def _room(self, more_bytes: int, name: str) -> None:
        if self._buffer.tell() + more_bytes > self._limit_bytes:
            raise ValueError(f"{name}: the archive is larger than {self._limit_bytes} bytes")

    def add(self, fd: int, part: str, name: str, depth: int) -> None:
        """The entry `part` of the directory `fd`, and all below it, as `name`."""
        try:
            facts = os.stat(part, dir_fd=fd, follow_symlinks=False)
            self._room(tarfile.BLOCKSIZE, name)
            self._add(fd, part, name, depth, facts)
        except OSError as error:  # gone, or made unreadable by the guest: to its owner it is not there
            raise FileNotFoundError(f"{name}: no such path that can be read in the working directory") from error

    def _add(self, fd: int, part: str, name: str, depth: int, facts: os.stat_result) -> None:
        if stat.S_ISLNK(facts.st_mode):
            self._add_link(fd, part, name, facts)
        elif stat.S_ISDIR(facts.st_mode):
            self._add_directory(fd, part, name, depth, facts)
        elif stat.S_ISREG(facts.st_mode):
            self._add_file(fd, part, name, facts)

    def _add_link(self, fd: int, part: str, name: str, facts: os.stat_result) -> None:
        member = _member(name, tarfile.SYMTYPE, facts)
        member.linkname = os.readlink(part, dir_fd=fd)
        self._tar.addfile(member)

    def _add_directory(self, fd: int, part: str, name: str, depth: int, facts: os.stat_result) -> None:
        self._tar.addfile(_member(name, tarfile.DIRTYPE, facts))
        below = os.open(part, _DIRECTORY, dir_fd=fd)
        try:
            self.add_entries(below, name, depth + 1)
        finally:
            os.close(below)

    def add_entries(self, fd: int, name: str, depth: int) -> None:
        if depth > MOST_DEPTH:
            raise ValueError(f"{name}: more than {MOST_DEPTH} directories deep")
        for entry in sorted(os.listdir(fd)):
            self.add(fd, entry, f"{name}/{entry}", depth)

    def _add_file(self, fd: int, part: str, name: str, facts: os.stat_result) -> None:
        self._room(tarfile.BLOCKSIZE + facts.st_size, name)
        with os.fdopen(os.open(part, _FILE, dir_fd=fd), "rb") as file:
            data = file.read(self._limit_bytes + 1)  # it may have grown since
        self._room(tarfile.BLOCKSIZE + len(data), name)
        member = _member(name, tarfile.REGTYPE, facts)
        member.size = len(data)
        self._tar.addfile(member, io.BytesIO(data))


def _member(name: str, kind: bytes, facts: os.stat_result) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.mode = stat.S_IMODE(facts.st_mode)
    member.mtime = int(facts.st_mtime)
    return member
