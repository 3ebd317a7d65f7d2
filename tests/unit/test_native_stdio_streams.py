"""`arci-init stdio`, the real program: addresses, and whatever streams a client may give it."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from native import (
    LIMIT_S,
    Echo,
    Listener,
    close_stdin,
    free_port,
    hello,
    init_path,
    need_files,
    read_all,
    read_line,
    read_to_end,
    send,
    started,
)


@pytest.fixture(params=["unix", "tcp"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Listener]:
    made = Listener(request.param, tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_an_address_that_is_late_is_waited_for(kind: str, tmp_path: Path) -> None:
    with free_port() as port, socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET) as late:
        late.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        address = f"unix:{tmp_path / 'late'}" if kind == "unix" else f"tcp:127.0.0.1:{port}"
        with started("stdio", address, "t") as process:
            send(process, b"early\n")
            late.bind(str(tmp_path / "late") if kind == "unix" else ("127.0.0.1", port))
            late.listen()
            late.settimeout(LIMIT_S)
            connection, _ = late.accept()
            with connection:
                close_stdin(process)
                assert read_to_end(connection) == b"ARCI mcp t\nearly\n"
            assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp:127.0.0.1:1", "Connection refused"),
        ("tcp:localhost:1", "Invalid argument"),
        ("file:/x", "Invalid argument"),
        (f"unix:/{'x' * 200}", "Filename too long"),
    ],
)
def test_an_address_that_cannot_be_reached_is_one_line_on_stderr(address: str, reason: str) -> None:
    argv = [str(init_path()), "stdio", address, "t"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (69, b"")
    assert done.stderr.decode() == f"arci-init: cannot reach {address}: {reason}\n"


def test_a_full_backlog_does_not_hold_it_beyond_its_patience(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as first:
        deaf.bind(str(tmp_path / "deaf"))
        deaf.listen(0)
        first.connect(str(tmp_path / "deaf"))
        argv = [str(init_path()), "stdio", f"unix:{tmp_path / 'deaf'}", "t"]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 69


def test_it_needs_no_environment_and_dies_of_term(recorder: Listener) -> None:
    pipe = subprocess.PIPE
    argv = [str(init_path()), "stdio", recorder.address, "t"]
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, env={}, cwd="/") as process:
        connection = recorder.accept()
        assert hello(connection) == "ARCI mcp t"
        process.terminate()
        assert process.wait(LIMIT_S) == -signal.SIGTERM
        assert read_to_end(connection) == b""


def test_streams_that_it_shares_with_others_stay_as_they_are(recorder: Listener) -> None:
    """A descriptor made non-blocking would fail the writes of everyone else that has it."""
    (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
    with subprocess.Popen(
        [str(init_path()), "stdio", recorder.address, "t"], stdin=in_read, stdout=out_write
    ) as process:
        connection = recorder.accept()
        assert hello(connection) == "ARCI mcp t"
        connection.sendall(b"answer")
        assert os.read(out_read, 64) == b"answer"
        flags = [fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK for fd in (in_read, out_write)]
        connection.close()
        assert process.wait(LIMIT_S) == 0
    assert flags == [0, 0]
    for descriptor in (in_read, in_write, out_read, out_write):
        os.close(descriptor)


def test_a_client_may_use_one_socket_for_both_streams(recorder: Listener) -> None:
    """What Node gives its children are sockets, not pipes."""
    ours, theirs = socket.socketpair()
    with (
        ours,
        subprocess.Popen(
            [str(init_path()), "stdio", recorder.address, "t"], stdin=theirs.fileno(), stdout=theirs.fileno()
        ) as process,
    ):
        theirs.close()
        ours.settimeout(LIMIT_S)
        connection = recorder.accept()
        assert hello(connection) == "ARCI mcp t"
        ours.sendall(b"call")
        ours.shutdown(socket.SHUT_WR)
        assert read_to_end(connection) == b"call"
        connection.sendall(b"answer")
        connection.close()
        assert read_to_end(ours) == b"answer"
        assert process.wait(LIMIT_S) == 0


def test_files_may_stand_for_both_streams(recorder: Listener, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"call\n")
    with (
        (tmp_path / "in").open("rb") as source,
        (tmp_path / "out").open("wb") as sink,
        subprocess.Popen([str(init_path()), "stdio", recorder.address, "t"], stdin=source, stdout=sink) as process,
    ):
        connection = recorder.accept()
        assert read_to_end(connection) == b"ARCI mcp t\ncall\n"
        connection.sendall(b"answer")
        connection.close()
        assert process.wait(LIMIT_S) == 0
    assert (tmp_path / "out").read_bytes() == b"answer"


def test_a_stdin_that_was_never_opened_is_an_end_of_stdin(recorder: Listener) -> None:
    script = 'exec "$0" stdio "$1" t <&- >&-'
    with subprocess.Popen(["sh", "-c", script, str(init_path()), recorder.address]) as process:
        connection = recorder.accept()
        assert read_to_end(connection) == b"ARCI mcp t\n"
        connection.close()
        assert process.wait(LIMIT_S) == 0


def test_five_hundred_shims_through_a_holder_are_kept_apart(tmp_path: Path) -> None:
    need_files(3 * 500 + 2 * 500 + 128)
    peer = Echo(tmp_path / "s", lambda c: c.sendall(read_to_end(c)))
    with ExitStack() as stack:
        port = stack.enter_context(free_port())
        holder = stack.enter_context(started("hold", "--listen", f"127.0.0.1:{port}"))
        assert read_line(holder) == "ready"
        send(holder, f"target {tmp_path / 's'}\n".encode())
        assert read_line(holder) == "ok"
        argv = ("stdio", f"tcp:127.0.0.1:{port}")
        shims = [stack.enter_context(started(*argv, f"{number}")) for number in range(500)]
        for shim in shims:
            send(shim, b"hello")
            close_stdin(shim)
        said = [read_all(shim) for shim in shims]
        assert said == [b"ARCI mcp %d\nhello" % number for number in range(500)]
        assert {shim.wait(LIMIT_S) for shim in shims} == {0}
    peer.close()
