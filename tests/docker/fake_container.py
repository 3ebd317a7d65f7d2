"""Containers of the scripted engine: their state, their one stream, and what ordinary ones do."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

HOLDER_ARGV = "hold"
PROBE_TEXT = "/arci-probe"
NEVER = "0001-01-01T00:00:00Z"
CLOCK = "2026-01-01T00:00:00Z"
CLOCK_S = 1_767_225_600
IMAGE_ID = f"sha256:{'1a' * 32}"
LAYERS = [f"sha256:{name * 32}" for name in ("b1", "b2", "b3")]
PROBE = {
    "memory": str(64 << 20),
    "pids": "128",
    "files": 65536,
    "processes": -1,
    "caps": "0000000000000000",
    "no_new_privs": "1",
    "interfaces": ["lo"],
    "root": "read-only",
    "free_bytes": 1 << 40,
}
"""What a container of an engine that enforces everything says to the preflight's question."""


@dataclass
class FakeContainer:
    id: str
    name: str
    config: dict[str, Any]
    closes: bool = True
    """False: its stream stays open whatever happens, as after an engine's change for the worse (N26)."""
    state: dict[str, Any] = field(
        default_factory=lambda: {
            "Status": "created",
            "Running": False,
            "ExitCode": 0,
            "OOMKilled": False,
            "StartedAt": NEVER,
            "Error": "",
        }
    )
    stream: socket.socket | None = None
    killed: threading.Event = field(default_factory=threading.Event)

    @property
    def role(self) -> str:
        return str(self.config.get("Labels", {}).get("dev.arci.role", ""))

    @property
    def row(self) -> dict[str, Any]:
        """As the engine lists it."""
        created = self.state.get("Created", CLOCK_S)
        return {
            "Id": self.id,
            "Labels": self.config.get("Labels", {}),
            "State": self.state["Status"],
            "Created": created,
        }

    def write(self, data: bytes, stream: int = 1) -> None:
        self.write_raw(bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data)

    def write_raw(self, data: bytes) -> None:
        assert self.stream is not None
        with suppress(OSError):
            self.stream.sendall(data)

    def read_line(self) -> bytes:
        assert self.stream is not None
        line = b""
        with suppress(OSError):
            while not line.endswith(b"\n"):
                byte = self.stream.recv(1)
                if not byte:
                    break
                line += byte
        return line

    def end(self, code: int, *, oom: bool = False) -> None:
        self.state.update(Status="exited", Running=False, ExitCode=code, OOMKilled=oom)
        self.cut()

    def cut(self) -> None:
        """End the stream, if this engine does."""
        if self.closes and self.stream is not None:
            with suppress(OSError):
                self.stream.shutdown(socket.SHUT_RDWR)


Behaviour = Callable[[FakeContainer], None]


def hold(container: FakeContainer) -> None:
    """What a holder does: `ready`, then `ok` for each target, until its stdin ends."""
    container.write(b"ready\n")
    while line := container.read_line():
        if line != b"\n":  # a sign of life
            container.write(b"ok\n")
    container.end(0)


def answer_probe(container: FakeContainer) -> None:
    container.write(json.dumps(PROBE).encode())
    container.end(0)


def sleep(container: FakeContainer) -> None:
    """A guest that runs until it is killed or its stdin ends."""
    while container.read_line():
        pass


def behaviour(container: FakeContainer, guest: Behaviour) -> Behaviour:
    """What a container runs: holders and the preflight's are known by their argv, all others do as `guest`."""
    command = container.config["Cmd"]
    if HOLDER_ARGV in command:
        return hold
    return answer_probe if any(PROBE_TEXT in part for part in command) else guest
