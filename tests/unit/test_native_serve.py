"""`arci-init init --serve`, the real program: an MCP server's streams, carried to and from the recorder's socket."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from native import (
    LIMIT_S,
    Listener,
    close_stdin,
    cut,
    fill,
    hello,
    is_alive,
    read_to_end,
    resident_kib,
    said_before,
    send,
    started,
)


@pytest.fixture(params=["unix", "tcp"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Listener]:
    made = Listener(request.param, tmp_path)
    yield made
    made.close()


@contextmanager
def serving(
    recorder: Listener, *argv: str, stderr: int | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """`argv` as a server, and the recorder's end of its connection after the hello."""
    with started("init", "--serve", recorder.address, "--", *argv, stderr=stderr) as process:
        send(process, b"serve t0ken files\n")
        connection = recorder.accept()
        assert hello(connection) == "ARCI environment t0ken files"
        yield process, connection


def test_eight_mebibytes_pass_both_ways_and_half_a_close_ends_the_server(recorder: Listener) -> None:
    data = os.urandom(8 << 20)
    with serving(recorder, "cat") as (process, connection):

        def say() -> None:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=say)
        sender.start()
        assert read_to_end(connection) == data
        sender.join(LIMIT_S)
        assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", 128 + signal.SIGSEGV), ("kill -9 $$", 137)]
)
def test_it_ends_with_the_servers_code_and_closes_the_connection(recorder: Listener, script: str, code: int) -> None:
    with serving(recorder, "sh", "-c", f"echo last words; {script}") as (process, connection):
        assert read_to_end(connection) == b"last words\n"
        assert process.wait(LIMIT_S) == code


def test_what_a_server_wrote_before_its_end_arrives_whole_at_a_recorder_that_was_busy(recorder: Listener) -> None:
    with serving(recorder, "sh", "-c", "head -c 3000000 /dev/zero; echo end >&2", stderr=subprocess.PIPE) as (
        process,
        connection,
    ):
        first = connection.recv(1)
        assert len(first + read_to_end(connection)) == 3_000_000
        assert process.wait(LIMIT_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b"end\n"


def test_files_are_put_before_it_is_started(recorder: Listener, tmp_path: Path) -> None:
    with started("init", "--serve", recorder.address, "--", "cat", str(tmp_path / "work" / "task.json")) as process:
        send(process, b"mkdir %s\n" % str(tmp_path / "work").encode())
        send(process, b"put 4 %s\ntask" % str(tmp_path / "work" / "task.json").encode())
        send(process, b"serve t s\n")
        assert read_to_end(recorder.accept()) == b"ARCI environment t s\ntask"
        assert process.wait(LIMIT_S) == 0


def test_a_server_that_ignores_the_end_and_term_is_killed(tmp_path: Path) -> None:
    script = "trap 'echo term' TERM; echo ready; cat >/dev/null; echo eof; while :; do sleep 0.1; done"
    recorder = Listener("tcp", tmp_path)
    with closing(recorder), serving(recorder, "sh", "-c", script) as (process, connection):
        assert hello(connection) == "ready"
        connection.shutdown(socket.SHUT_WR)
        assert read_to_end(connection) == b"eof\nterm\n"
        assert process.wait(LIMIT_S) == 137


def test_a_server_that_never_reads_is_still_told_to_stop(tmp_path: Path) -> None:
    """The end of the stream lies behind bytes that nobody takes. A Unix socket tells of it all the same, TCP cannot."""
    recorder = Listener("unix", tmp_path)
    with closing(recorder), serving(recorder, "sleep", "1000") as (process, connection):
        fill(connection)
        assert resident_kib(process.pid) < 1024
        connection.shutdown(socket.SHUT_WR)
        assert read_to_end(connection) == b""
        assert process.wait(LIMIT_S) == 128 + signal.SIGTERM


def test_a_server_that_closes_its_stdout_and_goes_on_is_ended(tmp_path: Path) -> None:
    script = "trap 'exit 9' TERM; exec >&-; cat >/dev/null; while :; do sleep 0.1; done"
    recorder = Listener("unix", tmp_path)
    with closing(recorder), serving(recorder, "sh", "-c", script) as (process, connection):
        assert read_to_end(connection) == b""
        assert process.wait(LIMIT_S) == 9


def test_a_recorder_that_does_not_read_holds_the_server_back(recorder: Listener) -> None:
    script = "cat; head -c 3000000 /dev/zero"
    with serving(recorder, "sh", "-c", script) as (process, connection):
        connection.shutdown(socket.SHUT_WR)
        first = connection.recv(1)
        assert resident_kib(process.pid) < 1024
        assert len(first + read_to_end(connection)) == 3_000_000
        assert process.wait(LIMIT_S) == 0


def test_a_server_that_closes_its_stdin_may_still_speak(recorder: Listener, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cue")
    script = 'exec <&-; read line <"$0"; echo $line; exit 3'
    with serving(recorder, "sh", "-c", script, str(tmp_path / "cue")) as (process, connection):
        with (tmp_path / "cue").open("w") as cue:  # opened when the server reads from it: its stdin is closed by then
            connection.sendall(b"x" * (4 << 20))
            cue.write("spoken\n")
        assert read_to_end(connection) == b"spoken\n"
        assert process.wait(LIMIT_S) == 3


def test_a_grandchild_that_holds_stdout_is_gone_when_the_connection_is_closed(recorder: Listener) -> None:
    with serving(recorder, "sh", "-c", "setsid sleep 1000 & echo $!; read cue; exit 5") as (process, connection):
        pid = int(hello(connection))
        assert is_alive(pid)
        connection.sendall(b"go\n")
        assert read_to_end(connection) == b""
        assert not is_alive(pid)
        assert process.wait(LIMIT_S) == 5


def test_a_grandchild_that_writes_for_ever_does_not_hold_up_the_end(recorder: Listener) -> None:
    with serving(recorder, "sh", "-c", "setsid sh -c 'while :; do echo y; done' & exit 5") as (process, connection):
        assert set(read_to_end(connection)) == set(b"y\n")
        assert process.wait(LIMIT_S) == 5


_FAMILY = "setsid sleep 1000 & echo $!; setsid sh -c 'sleep 1000 & echo $!; wait' & echo $!; echo $$; exec sleep 1000"


def _family(connection: socket.socket) -> list[int]:
    return [int(hello(connection)) for _ in range(4)]


def test_a_recorder_that_dies_takes_everything_along(recorder: Listener) -> None:
    with serving(recorder, "sh", "-c", _FAMILY) as (process, connection):
        pids = _family(connection)
        assert all(map(is_alive, pids))
        cut(connection)
        assert process.wait(LIMIT_S) == 143
        assert not any(map(is_alive, pids))


def test_end_of_stdin_kills_everything_at_once(recorder: Listener) -> None:
    with serving(recorder, "sh", "-c", _FAMILY) as (process, connection):
        pids = _family(connection)
        close_stdin(process)
        assert read_to_end(connection) == b""
        assert process.wait(LIMIT_S) == 143
        assert not any(map(is_alive, pids))


def test_term_is_passed_on_to_the_server(recorder: Listener) -> None:
    script = "trap 'echo got it; exit 3' TERM; echo ready; sleep 1000 & wait"
    with serving(recorder, "sh", "-c", script) as (process, connection):
        assert hello(connection) == "ready"
        process.terminate()
        assert read_to_end(connection) == b"got it\n"
        assert process.wait(LIMIT_S) == 3


def test_the_server_sees_neither_the_socket_nor_the_token(recorder: Listener) -> None:
    script = (
        "import os; fds = sorted(map(int, os.listdir('/proc/self/fd')));"
        "print(fds[:3], len(fds), os.getsid(0) == os.getpid());"
        "parent = open(f'/proc/{os.getppid()}/cmdline').read() + open('/proc/self/environ').read();"
        "print('t0' 'ken' in parent)"
    )
    with serving(recorder, sys.executable, "-c", script) as (_, connection):
        # The fourth descriptor is the listing's own.
        assert read_to_end(connection) == b"[0, 1, 2] 4 True\nFalse\n"


def test_the_token_is_wiped_from_memory_once_it_was_said(recorder: Listener) -> None:
    with serving(recorder, "cat") as (process, connection):
        connection.sendall(b"served\n")
        assert hello(connection) == "served"
        assert b"t0ken" not in _memory(process.pid)


def _memory(pid: int) -> bytes:
    """Every writable page of a process."""
    content = b""
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, mode = line.split()[:2]
            if not mode.startswith("rw"):
                continue
            start, _, end = span.partition("-")
            memory.seek(int(start, 16))
            content += memory.read(int(end, 16) - int(start, 16))
    return content


@pytest.mark.parametrize(("program", "code"), [("/no/such/program", 127), ("/etc/passwd", 126)])
def test_a_server_that_cannot_be_executed_closes_the_connection(recorder: Listener, program: str, code: int) -> None:
    with serving(recorder, program, stderr=subprocess.PIPE) as (process, connection):
        assert read_to_end(connection) == b""
        assert process.wait(LIMIT_S) == code
        assert process.stderr is not None
        assert process.stderr.read().startswith(b"arci-init: cannot execute " + program.encode())


def test_an_address_that_is_late_is_waited_for(tmp_path: Path) -> None:
    with started("init", "--serve", f"unix:{tmp_path / 'recorder.sock'}", "--", "echo", "served") as process:
        send(process, b"serve t s\n")
        recorder = Listener("unix", tmp_path)
        assert read_to_end(recorder.accept()) == b"ARCI environment t s\nserved\n"
        assert process.wait(LIMIT_S) == 0
        recorder.close()


def test_end_of_stdin_while_the_address_is_dialled_starts_nothing(tmp_path: Path) -> None:
    argv = ("init", "--serve", f"unix:{tmp_path / 'never'}", "--", "touch", str(tmp_path / "ran"))
    with said_before(b"serve t s\n", ends=True) as stdin, started(*argv, stdin=stdin) as process:
        assert process.wait(LIMIT_S) == 143
    assert not (tmp_path / "ran").exists()


def test_an_address_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    argv = ("init", "--serve", "tcp:nowhere:1", "--", "touch", str(tmp_path / "ran"))
    with started(*argv, stderr=subprocess.PIPE) as process:
        send(process, b"serve t s\n")
        assert process.wait(LIMIT_S) == 69
        assert process.stderr is not None
        assert (
            process.stderr.read() == b"arci-init: cannot reach the address to serve tcp:nowhere:1: Invalid argument\n"
        )
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("header", [b"serve t\n", b"serve t \n", b"serve  s\n", b"status t\n", b"feed 0\n"])
def test_a_header_that_does_not_say_what_to_serve_starts_nothing(header: bytes, tmp_path: Path) -> None:
    argv = ("init", "--serve", f"unix:{tmp_path / 'never'}", "--", "touch", str(tmp_path / "ran"))
    with started(*argv, stderr=subprocess.DEVNULL) as process:
        send(process, header)
        assert process.wait(LIMIT_S) == 64
    assert not (tmp_path / "ran").exists()


def test_it_serves_or_reports_but_not_both() -> None:
    argv = ("init", "--serve", "unix:/a", "--status", "unix:/b", "--", "true")
    with started(*argv, stderr=subprocess.DEVNULL) as process:
        assert process.wait(LIMIT_S) == 64
