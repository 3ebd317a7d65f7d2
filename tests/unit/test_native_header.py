"""The header that `arci-init init` reads: files and directories are on disk before anything is started."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from native import LIMIT_S, Listener, close_stdin, init_path, read_all, said_before, send, send_whole, started


def put(path: Path | str, content: bytes) -> bytes:
    return b"put %d %s\n" % (len(content), str(path).encode()) + content


@pytest.mark.parametrize(
    "header",
    [
        b"mkdir relative\n",
        b"mkdir \n",
        b"put 3 relative\nabc",
        b"put 3\n",
        b"put x /tmp/never\n",
        b"put -1 /tmp/never\n",
        b"put /tmp/never\n",
        b"serve token server\n",
    ],
)
def test_a_malformed_line_starts_nothing(header: bytes, tmp_path: Path) -> None:
    with started("init", "--", "touch", str(tmp_path / "ran"), stderr=subprocess.DEVNULL) as process:
        send(process, header)
        assert process.wait(LIMIT_S) == 64
    assert not (tmp_path / "ran").exists()


def test_files_of_any_bytes_and_length_are_there_when_the_child_starts(tmp_path: Path) -> None:
    contents = {
        tmp_path / "empty": b"",
        tmp_path / "one dir" / "a b" / "lines": b"status t\nfeed 3\n\0\xff",
        tmp_path / "large": os.urandom(20 << 20),
    }
    body = b"".join(put(path, content) for path, content in contents.items()) + b"feed 4\nbody"
    script = 'cat; cat "$0/one dir/a b/lines"; wc -c <"$0/large"'
    with started("init", "--", "sh", "-c", script, str(tmp_path)) as process:
        send_whole(process, body)
        said = read_all(process)
        assert process.wait(LIMIT_S) == 0
    assert said == b"bodystatus t\nfeed 3\n\0\xff%d\n" % (20 << 20)
    assert {path: path.read_bytes() for path in contents} == contents


def test_modes_do_not_depend_on_the_mask_and_the_child_keeps_it(tmp_path: Path) -> None:
    script = 'umask 077; exec "$0" init -- sh -c umask'
    from_shell = ["sh", "-c", script, str(init_path())]
    with subprocess.Popen(from_shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        send(process, b"mkdir %s\n" % str(tmp_path / "made" / "deep").encode())
        send(process, put(tmp_path / "parent" / "file", b"x") + b"feed 0\n")
        assert read_all(process) == b"0077\n"
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*")}
    assert modes == {"made": 0o755, "deep": 0o755, "parent": 0o755, "file": 0o644}


def test_what_is_there_already_is_kept_or_overwritten(tmp_path: Path) -> None:
    kept, file = tmp_path / "kept", tmp_path / "kept" / "file"
    kept.mkdir(mode=0o700)
    file.write_text("something longer than before")
    with started("init", "--", "true") as process:
        send(process, f"mkdir {kept}\n".encode() + put(file, b"new") + b"feed 0\n")
        assert process.wait(LIMIT_S) == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"put 1 /dev/full\nx", b"No space left on device"),
        (b"put 1 /dev/null/below\nx", b"Not a directory"),
        (b"put 1 /proc/new\nx", b"No such file or directory"),
        (b"put 1 /tmp\nx", b"Is a directory"),
        (b"put 1 /tmp/\nx", b"Is a directory"),
        (b"put 1 /tmp/%s\nx" % (b"n" * 300), b"Filename too long"),
        (b"mkdir /dev/null\n", b"Not a directory"),
        (b"mkdir /proc/new/below\n", b"No such file or directory"),
    ],
)
def test_a_path_that_cannot_be_written_is_named_and_nothing_is_started(
    line: bytes, reason: bytes, tmp_path: Path
) -> None:
    recorder = Listener("unix", tmp_path)
    argv = ("init", "--status", recorder.address, "--", "touch", str(tmp_path / "ran"))
    with started(*argv, stderr=subprocess.PIPE) as process:
        send(process, put(tmp_path / "before", b"fine") + line)
        assert process.wait(LIMIT_S) == 73
        assert process.stderr is not None
        said = process.stderr.read()
    recorder.close()
    path = line.split(b"\n")[0].split(b" ")[-1]
    assert said == b"arci-init: cannot write " + path + b": " + reason + b"\n"
    assert not (tmp_path / "ran").exists()


def test_an_end_of_stdin_within_a_file_starts_nothing(tmp_path: Path) -> None:
    with started("init", "--", "touch", str(tmp_path / "ran")) as process:
        send(process, b"put 10 %s\nshort" % str(tmp_path / "file").encode())
        close_stdin(process)
        assert process.wait(LIMIT_S) == 143
    assert not (tmp_path / "ran").exists()


def test_an_end_of_stdin_while_the_status_address_is_dialled_starts_nothing(tmp_path: Path) -> None:
    argv = ("init", "--status", f"unix:{tmp_path / 'never'}", "--", "touch", str(tmp_path / "ran"))
    with (
        said_before(b"status t\n", ends=True) as stdin,
        started(*argv, stderr=subprocess.DEVNULL, stdin=stdin) as process,
    ):
        assert process.wait(LIMIT_S) == 143
    assert not (tmp_path / "ran").exists()
