"""`--silence-ms`, the real program: an owner of whom nothing is heard for so long is gone, though stdin stays open."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

from native import (
    LIMIT_S,
    Listener,
    StatusPeer,
    free_port,
    hello,
    is_alive,
    read_all,
    read_line,
    read_to_end,
    said_before,
    send,
    send_whole,
    signs_of_life,
    started,
)

SHORT = ("--silence-ms", "50")
SILENCE = ("--silence-ms", "5000")
"""Longer than whoever says something is held up on a loaded machine."""
LONG = ("--silence-ms", "60000")
"""None that is ever waited for."""
SLEEPER = ("sh", "-c", "echo $$; exec sleep 1000")


def let_a_silence_pass() -> None:
    """One that heard nothing, and was started just now, has ended by itself."""
    with started("hold", *SILENCE) as process:
        assert process.wait(LIMIT_S) == 0


def unread(process: subprocess.Popen[bytes]) -> int:
    """Bytes on its stdin that it has not read."""
    assert process.stdin is not None
    return int(struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4))[0])


@pytest.mark.parametrize("listens", [False, True])
def test_a_holder_that_hears_nothing_ends_as_at_the_end_of_stdin(listens: bool) -> None:
    with free_port() as port:
        told = ("--listen", f"127.0.0.1:{port}") if listens else ()
        with started("hold", *SHORT, *told) as process:
            assert read_line(process) == "ready"
            assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("header", [b"", b"\n", b"mkdir /", b"put 10 /tmp/never\nabc"])
def test_what_hears_no_more_of_its_header_starts_nothing(header: bytes, tmp_path: Path) -> None:
    said = header.replace(b"/tmp", str(tmp_path).encode())
    with (
        said_before(said) as stdin,
        started("init", *SHORT, "--", "touch", str(tmp_path / "ran"), stdin=stdin) as process,
    ):
        assert process.wait(LIMIT_S) == 143
    assert not (tmp_path / "ran").exists()


def test_an_agent_ends_with_its_silent_owner(tmp_path: Path) -> None:
    peer = StatusPeer(tmp_path)
    with started("init", *SILENCE, "--status", peer.address, "--", *SLEEPER) as process:
        send(process, b"status t0ken\n")
        with signs_of_life(process):
            peer.accept()
            assert [peer.line(), peer.line()] == ["ARCI status t0ken", "started"]
            child = int(read_line(process))
        assert process.wait(LIMIT_S) == 143
        assert not is_alive(child)
        assert peer.rest() == []
    peer.close()


def test_a_grader_ends_with_its_silent_owner() -> None:
    with started("init", *SILENCE, "--", *SLEEPER) as process:
        send(process, b"feed 2\n{}")
        with signs_of_life(process):
            child = int(read_line(process))
        assert process.wait(LIMIT_S) == 143
        assert not is_alive(child)


def test_a_server_ends_with_its_silent_owner_though_its_recorder_lives(tmp_path: Path) -> None:
    recorder = Listener("unix", tmp_path)
    with started("init", *SILENCE, "--serve", recorder.address, "--", *SLEEPER) as process:
        send(process, b"serve t0ken files\n")
        with signs_of_life(process):
            connection = recorder.accept()
            assert hello(connection) == "ARCI environment t0ken files"
            child = int(hello(connection))
        assert process.wait(LIMIT_S) == 143
        assert not is_alive(child)
        assert read_to_end(connection) == b""
    recorder.close()


def test_a_sign_of_life_that_was_not_read_yet_counts() -> None:
    """Who was held up itself (a paused container, a loaded machine) must not take its owner for dead."""
    with started("hold", *SILENCE) as process:
        assert read_line(process) == "ready"
        process.send_signal(signal.SIGSTOP)
        send(process, b"\n")
        let_a_silence_pass()
        process.send_signal(signal.SIGCONT)
        while unread(process) and process.poll() is None:
            os.sched_yield()
        send(process, b"target -\n")
        assert read_line(process) == "ok"


def test_signs_of_life_are_no_part_of_what_is_said() -> None:
    with started("hold") as process:
        send(process, b"\n\ntarget -\n\n\ntarget /nowhere\n\n")
        assert [read_line(process) for _ in range(3)] == ["ready", "ok", "ok"]
    with started("init", *LONG, "--", "cat") as process:
        send(process, b"\n\nfeed 3\na\nb\n\n")
        assert read_all(process) == b"a\nb"


@pytest.mark.parametrize("size", [100_000, 1 << 20])
def test_a_child_that_leaves_its_input_unread_is_no_silence_of_the_owner(size: int, tmp_path: Path) -> None:
    """What the owner says then waits behind the input; of the smaller one `arci-init` itself has the end in hand."""
    gate, body = tmp_path / "gate", b"x" * size
    os.mkfifo(gate)
    count = "import sys; open(sys.argv[1]).read(); print(len(sys.stdin.buffer.read()))"
    with started("init", *SILENCE, "--", sys.executable, "-I", "-S", "-c", count, str(gate)) as process:
        feeder = threading.Thread(target=send_whole, args=(process, b"feed %d\n%s" % (len(body), body)))
        feeder.start()
        gate_end = os.open(gate, os.O_WRONLY)  # the child is there
        let_a_silence_pass()
        os.close(gate_end)
        feeder.join(LIMIT_S)
        with signs_of_life(process):  # the child may take its time
            assert read_line(process) == str(len(body))
            assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("mode", ["hold", "init"])
@pytest.mark.parametrize("value", ["", "x", "0", "-1", "99999999999"])
def test_a_silence_is_a_number_of_milliseconds(mode: str, value: str) -> None:
    with started(mode, "--silence-ms", value, "--", "true", stderr=subprocess.PIPE) as process:
        assert process.wait(LIMIT_S) == 64
        assert process.stderr is not None
        assert b"--silence-ms takes" in process.stderr.read()
