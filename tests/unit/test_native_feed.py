"""`arci-init init` with a `feed`: a body for the child's stdin, whether or not the child wants it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from native import LIMIT_S, read_line, send, started


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3_000_000])
def test_a_fed_body_arrives_whole_and_is_followed_by_end_of_file(size: int, tmp_path: Path) -> None:
    body = os.urandom(size)
    with started("init", "--", "sh", "-c", 'cat >"$0"', str(tmp_path / "got")) as process:
        send(process, b"feed %d\n" % size + body)
        assert process.wait(LIMIT_S) == 0
    assert (tmp_path / "got").read_bytes() == body


def test_a_megabyte_for_a_child_that_does_not_read_does_not_hold_up_its_end(tmp_path: Path) -> None:
    with started("init", "--", "sh", "-c", 'while [ ! -e "$0" ]; do :; done; exit 4', str(tmp_path / "go")) as process:
        send(process, b"feed 1048576\n")
        _write_until_full(process)
        (tmp_path / "go").touch()
        assert process.wait(LIMIT_S) == 4


def _write_until_full(process: subprocess.Popen[bytes]) -> None:
    """As much of a body as the pipes take; the program must not need the rest in order to see its child's end."""
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    left = 1 << 20
    while left:
        try:
            written = process.stdin.write(b"x" * left)
        except BrokenPipeError:
            return
        if not written:
            return
        left -= written


def test_end_of_stdin_is_seen_while_the_child_does_not_read() -> None:
    with started("init", "--", "sh", "-c", "echo ready; exec sleep 1000") as process:
        send(process, b"feed 1048576\n")
        assert read_line(process) == "ready"
        _write_until_full(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT_S) == 143


def test_a_child_that_closes_its_stdin_gets_on_with_its_work() -> None:
    with started("init", "--", "sh", "-c", "exec <&-; echo closed; exit 6") as process:
        send(process, b"feed 1048576\n" + b"x" * 1000)
        assert read_line(process) == "closed"
        assert process.wait(LIMIT_S) == 6
