"""`arci-init init` as PID 1 of a real container: memory kills counted, reaping, a server's streams carried, and the end
of everything with it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import pytest

from arci.isolation.docker.demux import Demux
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.runtime import Runtime, ensure_runtime

INIT = "/opt/arci/bin/arci-init"
LIMITS = {"Memory": 64 << 20, "MemorySwap": 64 << 20, "PidsLimit": 128, "NetworkMode": "none"}
PEER = """
import socket
listener = socket.create_server(("127.0.0.1", 4711))
print("listening", flush=True)
connection, _ = listener.accept()
for line in connection.makefile():
    print(line, end="", flush=True)
"""


@pytest.fixture
def runtime(engine: Engine) -> Runtime:
    return anyio.run(ensure_runtime, engine)


class Containers:
    """Made, started and removed by hand: the back end's own way is not under test here."""

    def __init__(self, engine: Engine, image: str) -> None:
        self.api: Any = engine.api
        self.image = image
        self.made: list[str] = []

    def start(
        self, *argv: str, network: str = "none", stdin: bytes | None = None, host: dict[str, Any] | None = None
    ) -> str:
        host = {**LIMITS, "NetworkMode": network, "CapDrop": ["ALL"], **(host or {})}
        config: dict[str, Any] = {
            "Image": self.image,
            "Entrypoint": list(argv[:1]),
            "Cmd": list(argv[1:]),
            "HostConfig": host,
        }
        if stdin is not None:
            config |= {"OpenStdin": True, "AttachStdin": True, "StdinOnce": True}
        container: str = self.api.create_container_from_config(config)["Id"]
        self.made.append(container)
        if stdin is None:
            self.api.start(container)
            return container
        self.attached = self.api.attach_socket(container, {"stdin": 1, "stream": 1})
        self.stream: socket.socket = self.attached._sock
        self.api.start(container)
        self.stream.sendall(stdin)
        return container

    def let_go(self) -> None:
        """The owner is gone: the container's stdin ends."""
        with suppress(OSError):
            self.stream.shutdown(socket.SHUT_RDWR)
        self.stream.close()
        self.attached.close()

    def lines(self, container: str) -> Iterator[str]:
        # Not through `logs`: that leaves its connection for the garbage collector to find.
        client: Any = self.api
        url = client._url("/containers/{0}/logs", container)
        answer = client._get(url, params={"stdout": 1, "stderr": 1, "follow": 1}, stream=True)
        demux, rest = Demux(), b""
        try:
            for data in answer.iter_content(chunk_size=None):
                rest += b"".join(chunk.data for chunk in demux.feed(data))
                *whole, rest = rest.split(b"\n")
                yield from (line.decode() for line in whole)
        finally:
            answer.close()

    def end(self) -> None:
        for container in reversed(self.made):
            self.api.remove_container(container, v=True, force=True)


@pytest.fixture
def containers(engine: Engine, runtime: Runtime) -> Iterator[Containers]:
    made = Containers(engine, runtime.image_id)
    yield made
    made.end()


def reported(
    containers: Containers, *argv: str, mode: str = "--status", header: bytes = b"status t\n"
) -> tuple[list[str], int]:
    """What the program said of `argv`, but for its peak of memory, and the code its container ended with."""
    said, code = reported_with_peak(containers, *argv, mode=mode, header=header)
    return [line.partition(" peak=")[0] for line in said], code


def reported_with_peak(
    containers: Containers, *argv: str, mode: str = "--status", header: bytes = b"status t\n"
) -> tuple[list[str], int]:
    peer = containers.start("python3", "-c", PEER)
    lines = containers.lines(peer)
    assert next(lines) == "listening"
    address = "tcp:127.0.0.1:4711"
    agent = containers.start(INIT, "init", mode, address, "--", *argv, network=f"container:{peer}", stdin=header)
    said = list(lines)
    code = containers.api.wait(agent)["StatusCode"]
    containers.let_go()
    return said, code


HUNGRY = "x = bytearray(256 << 20); print(len(x))"
FEEDS_A_HUNGRY_CHILD = (
    "import subprocess, sys;"
    f"code = subprocess.call([sys.executable, '-c', {HUNGRY!r}]);"
    "sys.exit(0 if code == -9 else 1)"
)


@pytest.mark.parametrize(
    ("argv", "report", "code"),
    [
        (("sh", "-c", "exit 7"), "ended exit 7 oom=0", 7),
        (("sh", "-c", "exit 137"), "ended exit 137 oom=0", 137),
        (("sh", "-c", "kill -9 $$"), "ended signal 9 oom=0", 137),
        (("python3", "-c", HUNGRY), "ended signal 9 oom=1", 137),
        (("python3", "-c", FEEDS_A_HUNGRY_CHILD), "ended exit 0 oom=1", 0),
    ],
    ids=["code", "137 by choice", "killed", "out of memory", "a child out of memory"],
)
def test_a_chosen_code_a_kill_and_a_kill_for_memory_are_told_apart(
    containers: Containers, argv: tuple[str, ...], report: str, code: int
) -> None:
    said, ended = reported(containers, *argv)
    assert said == ["ARCI status t", "started", report]
    assert ended == code


def test_the_most_memory_that_it_had_is_told(containers: Containers) -> None:
    said, code = reported_with_peak(containers, "python3", "-c", "x = bytearray(b'x' * (20 << 20))")
    told, _, peak = said[-1].partition(" peak=")
    assert (told, code) == ("ended exit 0 oom=0", 0)
    assert 20 << 20 < int(peak) <= 64 << 20


def test_more_double_forks_than_the_process_limit_are_all_reaped(containers: Containers) -> None:
    script = """
import os, sys
def fork():
    while True:
        try:
            return os.fork()
        except BlockingIOError:
            pass  # at the limit, until some of those that ended are reaped
for _ in range(300):
    pid = fork()
    if pid == 0:
        if fork() == 0:
            os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
"""
    said, code = reported(containers, "python3", "-c", script)
    assert (said[-1], code) == ("ended exit 0 oom=0", 0)


def test_the_agent_cannot_read_the_programs_memory_or_descriptors(containers: Containers) -> None:
    script = "cat /proc/1/maps || cat /proc/1/environ || readlink /proc/1/fd/0 || head -c 1 /proc/1/mem || exit 3"
    said, code = reported(containers, "sh", "-c", script)
    assert (said[-1], code) == ("ended exit 3 oom=0", 3)


def test_the_end_of_its_owner_ends_the_container(containers: Containers) -> None:
    agent = containers.start(INIT, "init", "--", "sh", "-c", "setsid sleep 1000 & wait", stdin=b"status t\n")
    containers.let_go()
    assert containers.api.wait(agent, timeout=90)["StatusCode"] == 143


def test_the_loss_of_the_status_connection_ends_the_container(containers: Containers) -> None:
    peer = containers.start("python3", "-c", PEER)
    lines = containers.lines(peer)
    assert next(lines) == "listening"
    argv = (INIT, "init", "--status", "tcp:127.0.0.1:4711", "--", "sleep", "1000")
    agent = containers.start(*argv, network=f"container:{peer}", stdin=b"status t\n")
    assert [next(lines), next(lines)] == ["ARCI status t", "started"]
    containers.api.kill(peer)
    assert containers.api.wait(agent, timeout=90)["StatusCode"] == 143
    containers.let_go()


def served(containers: Containers, *argv: str, files: bytes = b"") -> tuple[list[str], int]:
    """What a server `argv` said on its connection after the hello, and the code its container ended with."""
    said, code = reported(containers, *argv, mode="--serve", header=files + b"serve t0ken files\n")
    assert said[0] == "ARCI environment t0ken files"
    return said[1:], code


def test_a_server_is_carried_and_what_it_leaves_behind_ends_with_it(containers: Containers) -> None:
    assert served(containers, "sh", "-c", "echo hello; setsid sleep 1000 & exit 5") == (["hello"], 5)


def test_a_server_cannot_read_the_programs_memory_or_descriptors(containers: Containers) -> None:
    script = "cat /proc/1/maps || cat /proc/1/environ || readlink /proc/1/fd/0 || head -c 1 /proc/1/mem || exit 3"
    assert served(containers, "sh", "-c", script) == ([], 3)


def test_twenty_mebibytes_are_put_before_a_server_starts(containers: Containers) -> None:
    files = b"put %d /task/deep/task.json\n" % (20 << 20) + bytes(20 << 20)
    assert served(containers, "sh", "-c", "wc -c </task/deep/task.json", files=files) == ([str(20 << 20)], 0)


def test_the_end_of_its_owner_ends_a_server_that_is_not_served_yet(containers: Containers) -> None:
    argv = (INIT, "init", "--serve", "unix:/never", "--", "sleep", "1000")
    server = containers.start(*argv, stdin=b"serve t s\n")
    containers.let_go()
    assert containers.api.wait(server, timeout=90)["StatusCode"] == 143


def test_a_file_that_a_read_only_root_refuses_is_named(containers: Containers) -> None:
    header = b"put 1 /tmp/ours/fine\nxput 1 /etc/new\nxfeed 0\n"
    host = {"ReadonlyRootfs": True, "Tmpfs": {"/tmp": ""}}
    container = containers.start(INIT, "init", "--", "true", stdin=header, host=host)
    assert list(containers.lines(container)) == ["arci-init: cannot write /etc/new: Read-only file system"]
    assert containers.api.wait(container)["StatusCode"] == 73
    containers.let_go()
