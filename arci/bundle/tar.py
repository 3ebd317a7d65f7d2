"""The strictest tar there is: regular files under plain names, every other bit of a header fixed. Reads and writes.

The same members give the same bytes. A reader accepts exactly the headers that the writer makes, so links, devices,
directories, sparse files, extended headers, set-uid bits and owners need no rule of their own.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from arci.bundle.refusal import BundleError

__all__ = [
    "END",
    "Member",
    "chunks",
    "entry_header",
    "file_chunks",
    "padding",
    "read_whole",
    "walk",
    "write_members",
]

BLOCK = 512
END = bytes(2 * BLOCK)
_CHUNK = 1 << 20
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"5": "a directory",
    b"6": "a FIFO",
    b"S": "a sparse file",
    b"L": "an extended header",
    b"K": "an extended header",
    b"x": "an extended header",
    b"g": "an extended header",
}

MostBytes = Callable[[str], "int | None"]
"""Name -> how large the member may be; None: there is no such member."""


@dataclass(frozen=True, slots=True)
class Member:
    """Where the content of a member lies in the file."""

    name: str
    offset: int
    bytes: int


def entry_header(name: str, size: int) -> bytes:
    """The 512 bytes in front of a member. ValueError for a name or size that a plain header cannot hold."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


def padding(size: int) -> bytes:
    """What follows a member's content."""
    return bytes(-size % BLOCK)


def walk(fd: int, most_bytes: MostBytes, *, members: int) -> tuple[Member, ...]:
    """Every member, in order; nothing of their content is read. BundleError for whatever the writer would not make."""
    total = os.fstat(fd).st_size
    found: dict[str, Member] = {}
    at = 0
    while (block := _exactly(fd, BLOCK, at)) != bytes(BLOCK):
        member = _member(block, at + BLOCK, most_bytes)
        if member.name in found:
            raise BundleError(f"member {member.name!r}: is there twice; once is allowed.")
        if len(found) == members:
            raise BundleError(f"more than {members} members; that many are allowed.")
        found[member.name] = member
        end = member.offset + member.bytes
        at = end + len(padding(member.bytes))
        if at > total or os.pread(fd, at - end, end) != padding(member.bytes):
            raise BundleError(f"member {member.name!r}: is cut short or badly padded.")
    if _exactly(fd, BLOCK, at + BLOCK) != bytes(BLOCK) or at + len(END) != total:
        raise BundleError("something follows the end of the archive; nothing is allowed.")
    return tuple(found.values())


def chunks(fd: int, member: Member) -> Iterator[bytes]:
    """The member's content. BundleError if the file was cut meanwhile."""
    at, end = member.offset, member.offset + member.bytes
    while at < end:
        data = _exactly(fd, min(_CHUNK, end - at), at)
        at += len(data)
        yield data


def read_whole(fd: int, member: Member) -> bytes:
    """The member's content at once: `walk` has bounded it."""
    return b"".join(chunks(fd, member))


def file_chunks(path: Path) -> Iterator[bytes]:
    """A file's content. OSError as it comes."""
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            yield data


def write_members(out: BinaryIO, members: Iterable[tuple[str, int, Iterable[bytes]]]) -> None:
    """Name, size and content of each member, in the order given. BundleError if a content is not of its size."""
    for name, size, content in members:
        out.write(entry_header(name, size))
        written = 0
        for data in content:
            out.write(data)
            written += len(data)
        if written != size:
            raise BundleError(f"member {name!r}: changed while it was packed: {written} bytes instead of {size}.")
        out.write(padding(size))
    out.write(END)


def _exactly(fd: int, size: int, offset: int) -> bytes:
    data = os.pread(fd, size, offset)
    while len(data) < size:
        more = os.pread(fd, size - len(data), offset + len(data))
        if not more:
            raise BundleError("is cut short, or no bundle at all.")
        data += more
    return data


def _member(block: bytes, offset: int, most_bytes: MostBytes) -> Member:
    if block[257:262] != b"ustar":
        raise BundleError("is damaged, or no bundle at all.")
    name = _name(block)
    kind = _KINDS.get(block[156:157])
    if kind is not None:
        raise BundleError(f"member {name!r}: is {kind}; regular files alone are allowed.")
    most = most_bytes(name)
    if most is None:
        raise BundleError(f"member {name!r}: no bundle has a member of that name.")
    size = _size(block)
    if size is None or block != entry_header(name, size):
        raise BundleError(f"member {name!r}: its header is not one that arci writes.")
    if size > most:
        raise BundleError(f"member {name!r}: is {size} bytes; {most} are allowed.")
    return Member(name, offset, size)


def _name(block: bytes) -> str:
    name, prefix = (
        part.split(b"\0", 1)[0].decode("ascii", "backslashreplace") for part in (block[:100], block[345:500])
    )
    return f"{prefix}/{name}" if prefix else name


def _size(block: bytes) -> int | None:
    field = block[124:136]
    return int(field[:11], 8) if field[11:] == b"\0" and all(c in b"01234567" for c in field[:11]) else None
