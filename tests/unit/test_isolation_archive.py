"""What is fetched from a directory that an untrusted process filled."""

from __future__ import annotations

import io
import os
import socket
import tarfile
from pathlib import Path

import pytest

from arci.isolation.process.archive import MOST_DEPTH, archive


def members(data: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: member for member in tar}


def test_links_are_taken_as_links_and_never_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    work = tmp_path / "work"
    work.mkdir()
    (work / "file").symlink_to(tmp_path / "secret")
    (work / "dir").symlink_to(tmp_path)
    found = members(archive(str(work), ".", 1 << 20))
    assert {name: (m.issym(), m.linkname) for name, m in found.items()} == {
        "./file": (True, str(tmp_path / "secret")),
        "./dir": (True, str(tmp_path)),
    }


@pytest.mark.parametrize("path", ["dir/secret", "../secret", "/etc/passwd", "a/../../secret", "none", "plain/below"])
def test_a_path_that_leads_out_through_a_link_or_nowhere_is_not_found(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("s")
    work = tmp_path / "work"
    work.mkdir()
    (work / "plain").write_text("p")
    (work / "dir").symlink_to(tmp_path)
    with pytest.raises(FileNotFoundError):
        archive(str(work), path, 1 << 20)


def test_what_is_no_file_directory_or_link_is_left_out_and_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    (tmp_path / "plain").write_text("p")
    assert set(members(archive(str(tmp_path), ".", 1 << 20))) == {"./plain"}
    assert members(archive(str(tmp_path), "fifo", 1 << 20)) == {}
    listener.close()


def test_names_keep_their_bytes(tmp_path: Path) -> None:
    name = os.fsdecode(b"bad-\xff-\n-name" + b"x" * 150)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_bytes(b"1")
    found = members(archive(str(tmp_path), "d", 1 << 20))
    assert set(found) == {"d", f"d/{name}"}


def test_a_sparse_file_larger_than_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="larger than 1000000 bytes"):
        archive(str(tmp_path), ".", 1_000_000)


def test_very_many_empty_files_are_over_the_limit(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / str(number)).touch()
    with pytest.raises(ValueError, match="larger than"):
        archive(str(tmp_path), ".", 49 * 512)
    assert len(members(archive(str(tmp_path), ".", 60 * 512))) == 50


def test_a_tree_deeper_than_the_bound_is_over_the_limit(tmp_path: Path) -> None:
    (tmp_path / "/".join(["d"] * (MOST_DEPTH + 1))).mkdir(parents=True)
    with pytest.raises(ValueError, match="directories deep"):
        archive(str(tmp_path), "d", 1 << 20)


def test_the_limit_counts_the_archive_s_bytes_exactly(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 600)
    assert archive(str(tmp_path), "f", 512 + 600)
    with pytest.raises(ValueError, match="larger than 1111 bytes"):
        archive(str(tmp_path), "f", 512 + 599)
