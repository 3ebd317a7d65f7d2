"""`arci-init hold`, the real program as a plain process: the relay of a slot's holder."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from native import LIMIT_S, Echo, fill, free_port, need_files, read_line, read_to_end, resident_kib, send, started

FOUR_MIB = 4 << 20


class Holder:
    """A running `hold --listen`, its port, and the lines that it is told."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port

    def target(self, path: Path | str) -> None:
        send(self.process, f"target {path}\n".encode())
        assert read_line(self.process) == "ok"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), LIMIT_S)


@pytest.fixture
def holder() -> Iterator[Holder]:
    with free_port() as port, started("hold", "--listen", f"127.0.0.1:{port}") as process:
        assert read_line(process) == "ready"
        yield Holder(process, port)


@contextmanager
def serving(path: Path, serve: Callable[[socket.socket], None]) -> Iterator[None]:
    peer = Echo(path, serve)
    try:
        yield
    finally:
        peer.close()


def echo(connection: socket.socket) -> None:
    while data := connection.recv(65536):
        connection.sendall(data)


def test_without_listen_it_says_ready_and_ends_with_its_stdin() -> None:
    with started("hold") as process:
        assert read_line(process) == "ready"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(LIMIT_S) == 0


def test_term_ends_it_at_once() -> None:
    with started("hold") as process:
        assert read_line(process) == "ready"
        process.terminate()
        assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("line", [b"nonsense\n", b"target \n", b"x" * 2000])
def test_an_unknown_line_ends_it(line: bytes) -> None:
    with started("hold", stderr=subprocess.DEVNULL) as process:
        send(process, line)
        assert process.wait(LIMIT_S) == 64


def test_several_lines_in_one_write_are_all_answered(holder: Holder) -> None:
    send(holder.process, b"target /a\ntarget /b\ntarget -\n")
    assert [read_line(holder.process) for _ in range(3)] == ["ok"] * 3


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "localhost:80", "[::1]:80"])
def test_an_address_it_cannot_listen_on_is_an_error(address: str) -> None:
    with started("hold", "--listen", address, stderr=subprocess.DEVNULL) as process:
        assert process.wait(LIMIT_S) == 71


def test_a_port_in_use_is_an_error(holder: Holder) -> None:
    with started("hold", "--listen", f"127.0.0.1:{holder.port}", stderr=subprocess.PIPE) as process:
        assert process.wait(LIMIT_S) == 71


def test_four_mebibytes_pass_both_ways_and_each_half_closes_by_itself(holder: Holder, tmp_path: Path) -> None:
    up, down = os.urandom(FOUR_MIB), os.urandom(FOUR_MIB)
    got: dict[str, bytes] = {}

    def serve(connection: socket.socket) -> None:
        # Answers only after the client's end of stream: the other half must still be open then.
        got["up"] = read_to_end(connection)
        connection.sendall(down)

    with serving(tmp_path / "s", serve), holder.connect() as early:
        assert read_to_end(early) == b""  # no target yet: refused
        holder.target(tmp_path / "s")
        with holder.connect() as client:
            client.sendall(up)
            client.shutdown(socket.SHUT_WR)
            got["down"] = read_to_end(client)
    assert hashlib.sha256(got["up"]).digest() == hashlib.sha256(up).digest()
    assert hashlib.sha256(got["down"]).digest() == hashlib.sha256(down).digest()


def test_traffic_both_ways_at_once_does_not_deadlock(holder: Holder, tmp_path: Path) -> None:
    data = os.urandom(FOUR_MIB)
    with serving(tmp_path / "s", echo):
        holder.target(tmp_path / "s")
        with holder.connect() as client:

            def send_all() -> None:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)

            sender = threading.Thread(target=send_all)
            sender.start()
            assert read_to_end(client) == data
            sender.join(LIMIT_S)


def test_a_reader_that_stalls_is_held_back_not_buffered(holder: Holder, tmp_path: Path) -> None:
    release = threading.Event()

    def serve(connection: socket.socket) -> None:
        release.wait(LIMIT_S)
        connection.sendall(b"%d" % len(read_to_end(connection)))

    with serving(tmp_path / "s", serve):
        holder.target(tmp_path / "s")
        with holder.connect() as client:
            sent = fill(client)
            assert resident_kib(holder.process.pid) < 2048
            release.set()
            client.shutdown(socket.SHUT_WR)
            assert int(read_to_end(client)) == sent


def test_a_new_target_cuts_the_connections_of_the_old_one(holder: Holder, tmp_path: Path) -> None:
    with serving(tmp_path / "one", echo), serving(tmp_path / "two", lambda c: c.sendall(b"two")):
        holder.target(tmp_path / "one")
        with holder.connect() as old:
            old.sendall(b"hello")
            assert old.recv(16) == b"hello"
            holder.target(tmp_path / "two")
            assert read_to_end(old) == b""
            with holder.connect() as new:
                assert read_to_end(new) == b"two"


def test_after_target_none_connections_are_refused(holder: Holder, tmp_path: Path) -> None:
    with serving(tmp_path / "s", echo):
        holder.target(tmp_path / "s")
        holder.target("-")
        with holder.connect() as client:
            assert read_to_end(client) == b""


def test_a_target_that_is_not_there_closes_the_client(holder: Holder, tmp_path: Path) -> None:
    holder.target(tmp_path / "missing")
    with holder.connect() as client:
        client.sendall(b"hello")
        assert read_to_end(client) == b""


def test_a_target_that_is_late_is_waited_for(holder: Holder, tmp_path: Path) -> None:
    holder.target(tmp_path / "late")
    with holder.connect() as client:
        client.sendall(b"hello")
        with serving(tmp_path / "late", echo):
            assert client.recv(16) == b"hello"


def test_a_target_that_answers_and_closes_loses_nothing(holder: Holder, tmp_path: Path) -> None:
    answer = os.urandom(1 << 20)
    with serving(tmp_path / "s", lambda c: c.sendall(answer)):
        holder.target(tmp_path / "s")
        with holder.connect() as client:
            assert read_to_end(client) == answer


def test_three_hundred_connections_at_once_are_kept_apart(holder: Holder, tmp_path: Path) -> None:
    need_files(2 * 300 + 128)
    with serving(tmp_path / "s", echo), ExitStack() as stack:
        holder.target(tmp_path / "s")
        clients = [stack.enter_context(holder.connect()) for _ in range(300)]
        for number, client in enumerate(clients):
            client.sendall(b"%06d" % number)
        for number, client in enumerate(clients):
            assert client.recv(6, socket.MSG_WAITALL) == b"%06d" % number


def test_end_of_stdin_ends_it_with_connections_open(holder: Holder, tmp_path: Path) -> None:
    with serving(tmp_path / "s", echo):
        holder.target(tmp_path / "s")
        with holder.connect() as client:
            client.sendall(b"hello")
            assert client.recv(16) == b"hello"
            assert holder.process.stdin is not None
            holder.process.stdin.close()
            assert holder.process.wait(LIMIT_S) == 0
            assert read_to_end(client) == b""
