"""The archive itself: what the writer makes comes back, and whatever it would not make is refused by its name."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.bundle.refusal import BundleError
from arci.bundle.tar import END, Member, chunks, entry_header, padding, read_whole, walk, write_members

NAMES = ("bundle.json", "record.json", "logs/a", "logs/b")


def most(name: str) -> int | None:
    return 5000 if name in NAMES else None


def walked(data: bytes, tmp_path: Path, *, members: int = 10) -> tuple[Member, ...]:
    path = tmp_path / "archive"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        return walk(fd, most, members=members)
    finally:
        os.close(fd)


def written(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    write_members(out, ((name, len(data), (data,)) for name, data in members))
    return out.getvalue()


def entry(name: str = "logs/a", data: bytes = b"x", **attributes: object) -> bytes:
    """A whole archive of one member as the standard library writes it, with some attributes of its header changed."""
    info = tarfile.TarInfo(name)
    info.mode = 0o644
    info.size = len(data)
    for key, value in attributes.items():
        setattr(info, key, value)
    if info.type != tarfile.REGTYPE:
        info.size = 0
        data = b""
    return info.tobuf(tarfile.PAX_FORMAT) + data + padding(len(data)) + END


@given(
    contents=st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=1500)),
)
def test_what_was_written_comes_back_and_any_tar_reads_it(
    contents: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tar") / "archive"
    path.write_bytes(written(*contents.items()))
    fd = os.open(path, os.O_RDONLY)
    try:
        found = walk(fd, most, members=10)
        assert {m.name: read_whole(fd, m) for m in found} == contents
    finally:
        os.close(fd)
    with tarfile.open(path) as tar:
        assert [(m.name, m.mtime, m.uid, m.mode) for m in tar] == [(name, 0, 0, 0o644) for name in contents]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "is a symbolic link"),
        ({"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}, "is a hard link"),
        ({"type": tarfile.CHRTYPE}, "is a device"),
        ({"type": tarfile.BLKTYPE}, "is a device"),
        ({"type": tarfile.DIRTYPE}, "is a directory"),
        ({"type": tarfile.FIFOTYPE}, "is a FIFO"),
        ({"type": tarfile.GNUTYPE_SPARSE}, "is a sparse file"),
        ({"type": tarfile.GNUTYPE_LONGNAME}, "is an extended header"),
        ({"type": tarfile.CONTTYPE}, "not one that arci writes"),
        ({"pax_headers": {"size": "1099511627776"}}, "is an extended header"),
        ({"name": "../logs/a"}, "no bundle has a member of that name"),
        ({"name": "logs/../../x"}, "no bundle has a member of that name"),
        ({"name": "/logs/a"}, "no bundle has a member of that name"),
        ({"name": "unknown"}, "no bundle has a member of that name"),
        ({"name": "logs/a\n"}, "no bundle has a member of that name"),
        ({"mode": 0o4755}, "not one that arci writes"),
        ({"uid": 1}, "not one that arci writes"),
        ({"uname": "root"}, "not one that arci writes"),
        ({"mtime": 1}, "not one that arci writes"),
    ],
)
def test_nothing_but_a_plain_file_of_a_known_name_is_a_member(
    attributes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """N43, N44: refused from the header alone; nothing is unpacked to find out."""
    with pytest.raises(BundleError, match=reason):
        walked(entry(**attributes), tmp_path)


def corrupted(change: Callable[[bytearray], object]) -> bytes:
    data = bytearray(written(("bundle.json", b"abc"), ("logs/a", b"defg")))
    change(data)
    return bytes(data)


def flip(at: int) -> Callable[[bytearray], object]:
    return lambda data: data.__setitem__(at, data[at] ^ 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cut short, or no bundle"),
        (b"x" * 100, "cut short, or no bundle"),
        (b"x" * 4096, "damaged, or no bundle"),
        (written(("logs/a", b"1"), ("logs/a", b"1")), "is there twice"),
        (written(("logs/a", b"1" * 5001)), "is 5001 bytes; 5000 are allowed"),
        (written(*((name, b"") for name in NAMES)), "more than 3 members"),
        (written(("logs/a", b"1"))[:-1], "cut short"),
        (written(("logs/a", b"1"))[:700], "cut short or badly padded"),
        (written(("logs/a", b"1")) + b"\0", "something follows"),
        (written(("logs/a", b"1")) + written(("logs/b", b"1")), "something follows"),
        (entry_header("logs/a", 1) + b"1" + padding(1) + bytes(512) + b"y" * 512, "something follows"),
        (corrupted(flip(150)), "not one that arci writes"),
        (corrupted(flip(400)), "no bundle has a member|not one that arci writes"),
        (corrupted(flip(1023)), "badly padded"),
        (corrupted(lambda data: data.__setitem__(slice(124, 136), b"\x80" + bytes(10) + b"\x03")), "not one that arci"),
        (corrupted(lambda data: data.__setitem__(slice(124, 136), b"77777777777\0")), "not one that arci writes"),
    ],
)
def test_a_damaged_or_padded_archive_is_refused(data: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=reason):
        walked(data, tmp_path, members=3)


def test_a_member_that_claims_more_than_the_file_has_is_cut_short(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="cut short"):
        walked(entry_header("logs/a", 4999) + END, tmp_path)


@given(at=st.integers(0, 3071), bit=st.integers(0, 7))
def test_no_flipped_bit_outside_the_content_goes_unseen(
    at: int, bit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = bytearray(written(("bundle.json", b"abc"), ("logs/a", b"defg")))
    assert len(data) == 3072
    data[at] ^= 1 << bit
    is_content = at in range(512, 515) or at in range(1536, 1540)
    directory = tmp_path_factory.mktemp("flipped")
    if is_content:
        assert len(walked(bytes(data), directory)) == 2
    else:
        with pytest.raises(BundleError):
            walked(bytes(data), directory)


def test_a_file_that_shrinks_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_bytes(written(("logs/a", b"1" * 4000)))
    fd = os.open(path, os.O_RDWR)
    try:
        (member,) = walk(fd, most, members=1)
        os.ftruncate(fd, 1000)
        with pytest.raises(BundleError, match="cut short"):
            list(chunks(fd, member))
    finally:
        os.close(fd)


def test_a_content_that_changes_while_it_is_packed_is_told() -> None:
    with pytest.raises(BundleError, match="changed while it was packed: 2 bytes instead of 3"):
        write_members(io.BytesIO(), [("logs/a", 3, (b"1", b"2"))])
