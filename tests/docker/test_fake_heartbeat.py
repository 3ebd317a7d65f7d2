"""Signs of life to the guests of a run: who is told, who holds up nobody, and when it ends."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from fake_container import FakeContainer
from pods import on_fake, trial, until

from arci.errors import UsageError
from arci.isolation.base import ProcessSpec
from arci.isolation.docker.connection import Connection
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.heartbeat import Heartbeat, silence_ms
from arci.isolation.groups import task_group
from arci.model.trial import Role

LISTENS = {"Cmd": ["hold", "--silence-ms", "6"]}


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCI_SILENCE_MS", "6")


class Told:
    """A guest that counts what it is told."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.has_ended = self.is_sending = False

    async def send(self, data: bytes) -> None:
        self.heard.append(data)

    async def hears(self, more: int) -> None:
        wanted = len(self.heard) + more
        await until(lambda: len(self.heard) >= wanted)


def keep(heartbeat: Heartbeat, guest: Told, config: Mapping[str, Any] = LISTENS) -> None:
    heartbeat.keep(cast(DockerGuest, guest), config)


def within_a_heartbeat(body: Callable[[Heartbeat], Any]) -> None:
    async def main() -> None:
        async with task_group() as tasks:
            heartbeat = Heartbeat(tasks)
            await body(heartbeat)
            heartbeat.stop()

    anyio.run(main)


def test_all_that_listen_are_told_again_and_again_by_a_blank_line() -> None:
    one, other, deaf = Told(), Told(), Told()

    async def body(heartbeat: Heartbeat) -> None:
        keep(heartbeat, one)
        keep(heartbeat, deaf, {"Cmd": ["hold"]})
        await one.hears(2)
        keep(heartbeat, other)
        await other.hears(2)
        await one.hears(1)

    within_a_heartbeat(body)
    assert {*one.heard, *other.heard} == {b"\n"}
    assert deaf.heard == []


def test_one_that_takes_nothing_holds_up_nobody_and_is_told_nothing_more() -> None:
    """What waits for it is enough of a sign."""
    full, other = Told(), Told()
    full.is_sending = True

    async def body(heartbeat: Heartbeat) -> None:
        keep(heartbeat, full)
        keep(heartbeat, other)
        await other.hears(3)
        assert full.heard == []
        full.is_sending = False
        await full.hears(1)

    within_a_heartbeat(body)


def test_one_that_has_ended_is_forgotten() -> None:
    gone, other = Told(), Told()
    gone.has_ended = True

    async def body(heartbeat: Heartbeat) -> None:
        keep(heartbeat, gone)
        keep(heartbeat, other)
        await other.hears(2)

    within_a_heartbeat(body)
    assert gone.heard == []


def test_a_heartbeat_that_told_nobody_ends_too() -> None:
    async def body(heartbeat: Heartbeat) -> None:
        keep(heartbeat, Told(), {"Cmd": []})

    within_a_heartbeat(body)


def test_a_stream_knows_that_somebody_waits() -> None:
    async def main() -> None:
        with ExitStack() as stack:
            ours, theirs = (stack.enter_context(end) for end in socket.socketpair())
            stream = Connection(ours)
            async with task_group() as tasks:
                tasks.start_soon(stream.send, b"x" * (8 << 20))
                await until(lambda: stream.is_sending)
                theirs.close()
            await until(lambda: not stream.is_sending)

    anyio.run(main)


@pytest.mark.parametrize("told", ["", "x", "0", "-5", "1.5", "9" * 12])
def test_a_silence_that_is_none_is_refused_by_name(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARCI_SILENCE_MS", told)
    with pytest.raises(UsageError, match="ARCI_SILENCE_MS"):
        silence_ms()


def test_it_is_half_a_minute_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARCI_SILENCE_MS")
    assert silence_ms() == 30_000


def test_holders_and_every_guest_under_arci_init_listen(tmp_path: Path) -> None:
    asked: dict[str, set[bool]] = {}

    def behave(container: FakeContainer) -> None:
        container.end(0)

    with on_fake(tmp_path) as fake:
        fake.server.behave = behave

        async def main() -> None:
            async with fake.run() as slots, slots.pod(trial()) as pod:
                for role in (Role.BOUNDARY, Role.AGENT, Role.GRADER):
                    argv = pod.python(role, "recorder") if role is Role.BOUNDARY else ("x",)
                    await pod.start(role, ProcessSpec(argv))
                for container in fake.server.there:
                    asked.setdefault(container.role, set()).add("--silence-ms" in container.config["Cmd"])

        anyio.run(main)
    assert asked == {"holder": {True}, "boundary": {True}, "agent": {True}, "grader": {True}}
