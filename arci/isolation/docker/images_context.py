"""A build context as a deterministic tar: sorted, no times, no owners, two modes. Reads the project's files."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

__all__ = ["context_sha256", "context_tar"]

_IN_MEMORY_BYTES = 32 << 20


def context_tar(files: Iterable[tuple[str, str]], texts: Mapping[str, bytes]) -> BinaryIO:
    """A tar of `files` ((name in the tar, path) pairs) and of `texts` (name -> content), at its start.

    Links stay links. The same names, contents and execute bits give the same bytes. OSError for what cannot be read.
    """
    out = cast(BinaryIO, tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES))  # noqa: SIM115, the caller's to close
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, path in sorted(files):
            _add(tar, name, Path(path))
        for name, content in sorted(texts.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, BytesIO(content))
    out.seek(0)
    return out


def context_sha256(tar: BinaryIO) -> str:
    """Digest over the whole of it, which is at its start again afterwards."""
    total = hashlib.sha256()
    while chunk := tar.read(1 << 20):
        total.update(chunk)
    tar.seek(0)
    return total.hexdigest()


def _add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    status = path.lstat()
    member = tarfile.TarInfo(name)
    if stat.S_ISLNK(status.st_mode):
        member.type, member.linkname, member.mode = tarfile.SYMTYPE, os.fspath(path.readlink()), 0o777
        tar.addfile(member)
        return
    member.mode = 0o755 if status.st_mode & 0o100 else 0o644
    with path.open("rb") as file:
        member.size = os.fstat(file.fileno()).st_size
        tar.addfile(member, file)
