"""`arci-init stdio`, the real program: the shim between a client's pipes and the boundary's socket."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from native import (
    LIMIT_S,
    Listener,
    close_stdin,
    cut,
    fill,
    fill_pipe,
    hello,
    init_path,
    read_all,
    read_line,
    read_to_end,
    resident_kib,
    send,
    send_whole,
    started,
)

EIGHT_MIB = 8 << 20


@pytest.fixture(params=["unix", "tcp"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Listener]:
    made = Listener(request.param, tmp_path)
    yield made
    made.close()


@contextmanager
def shim(
    recorder: Listener, *server: str, stderr: int | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """A shim that has said hello, and the recorder's end of its connection, which is closed first at the end."""
    with started("stdio", recorder.address, "t0ken", *server, stderr=stderr) as process:
        connection = recorder.accept()
        try:
            assert hello(connection) == " ".join(("ARCI mcp t0ken", *server))
            yield process, connection
        finally:
            connection.close()


@pytest.mark.parametrize("server", [(), ("files",)])
def test_it_says_who_it_is_and_then_carries_bytes(recorder: Listener, server: tuple[str, ...]) -> None:
    with shim(recorder, *server) as (process, connection):
        send(process, b'{"id": 1}\n\0\xff')
        assert connection.recv(64) == b'{"id": 1}\n\0\xff'
        connection.sendall(b"answer\n")
        assert read_line(process) == "answer"


@pytest.mark.parametrize("argv", [(), ("unix:/x",), ("unix:/x", "t", "server", "more")])
def test_a_wrong_call_is_refused_with_usage(argv: tuple[str, ...]) -> None:
    done = subprocess.run([init_path(), "stdio", *argv], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (64, b"")
    assert b"usage:" in done.stderr


def test_eight_mebibytes_pass_both_ways_at_once(recorder: Listener) -> None:
    up, down, got = os.urandom(EIGHT_MIB), os.urandom(EIGHT_MIB), []
    with shim(recorder) as (process, connection):

        def client_says() -> None:
            send_whole(process, up)
            close_stdin(process)

        def recorder_hears() -> None:
            got.append(read_to_end(connection))
            recorder_says.join(LIMIT_S)
            connection.close()

        client = threading.Thread(target=client_says)
        recorder_says = threading.Thread(target=connection.sendall, args=(down,))
        boundary = threading.Thread(target=recorder_hears)
        for thread in (client, recorder_says, boundary):
            thread.start()
        assert read_all(process) == down
        for thread in (client, boundary):
            thread.join(LIMIT_S)
        assert got == [up]
        assert process.wait(LIMIT_S) == 0


def test_a_client_that_does_not_read_is_held_back_and_is_still_heard(recorder: Listener) -> None:
    with shim(recorder) as (process, connection):
        sent = fill(connection)
        send(process, b"still here\n")
        assert connection.recv(64) == b"still here\n"
        assert resident_kib(process.pid) < 1024
        connection.shutdown(socket.SHUT_WR)
        assert len(read_all(process)) == sent
        assert process.wait(LIMIT_S) == 0


def test_a_boundary_that_does_not_read_holds_the_client_back_and_is_still_heard(recorder: Listener) -> None:
    with shim(recorder) as (process, connection):
        assert process.stdin is not None
        sent = fill_pipe(process.stdin.fileno())
        connection.sendall(b"still here\n")
        assert read_line(process) == "still here"
        assert resident_kib(process.pid) < 1024
        close_stdin(process)
        assert len(read_to_end(connection)) == sent


def test_end_of_stdin_half_closes_and_the_answer_still_comes(recorder: Listener) -> None:
    answer = os.urandom(1 << 20)
    with shim(recorder) as (process, connection):
        send(process, b"call\n")
        close_stdin(process)
        assert read_to_end(connection) == b"call\n"

        def answer_and_close() -> None:
            connection.sendall(answer)
            connection.close()

        sender = threading.Thread(target=answer_and_close)
        sender.start()
        assert read_all(process) == answer
        sender.join(LIMIT_S)
        assert process.wait(LIMIT_S) == 0


def test_it_ends_when_the_other_side_closes_though_stdin_is_open(recorder: Listener) -> None:
    with shim(recorder, stderr=subprocess.PIPE) as (process, connection):
        connection.sendall(b"last words\n")
        connection.close()
        assert read_all(process) == b"last words\n"
        assert process.wait(LIMIT_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_connection_that_is_cut_ends_it_like_a_close(recorder: Listener) -> None:
    with shim(recorder) as (process, connection):
        send(process, b"unread\n")
        assert connection.recv(1) == b"u"
        cut(connection)
        assert read_all(process) == b""
        assert process.wait(LIMIT_S) == 0


def test_a_client_that_reads_no_more_is_heard_out_though_its_stdin_stays_open(recorder: Listener) -> None:
    with shim(recorder, stderr=subprocess.PIPE) as (process, connection):
        assert process.stdout is not None
        send_whole(process, b"x" * (1 << 16))
        process.stdout.close()
        assert read_to_end(connection) == b"x" * (1 << 16)
        connection.sendall(b"an answer to nobody")
        connection.close()
        assert process.wait(LIMIT_S) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_client_that_leaves_while_an_answer_waits_for_it_ends_the_shim(recorder: Listener) -> None:
    with shim(recorder) as (process, connection):
        fill(connection)
        assert process.stdout is not None
        process.stdout.close()
        assert read_to_end(connection) == b""
        connection.close()
        assert process.wait(LIMIT_S) == 0


def test_a_client_that_is_killed_takes_its_shim_along(recorder: Listener) -> None:
    client = (
        "import subprocess, sys; pipe = subprocess.PIPE;"
        "shim = subprocess.Popen(sys.argv[1:], stdin=pipe, stdout=pipe);"
        "shim.stdin.write(b'%d\\n' % shim.pid); shim.stdin.flush(); shim.wait()"
    )
    argv = (str(init_path()), "stdio", recorder.address, "t")
    with subprocess.Popen([sys.executable, "-c", client, *argv]) as process:
        connection = recorder.accept()
        assert hello(connection) == "ARCI mcp t"
        watch = os.pidfd_open(int(hello(connection)))  # readable when the process has ended
        process.kill()
    assert read_to_end(connection) == b""
    connection.close()
    ready, _, _ = select.select([watch], [], [], LIMIT_S)
    os.close(watch)
    assert ready
