"""Streams, ends and stops of a guest on an engine that misbehaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from fake_container import NEVER, Behaviour, FakeContainer
from pods import KEEP, LIMIT_S, Fake, ended, on_fake, plan, trial, until, within

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.isolation.docker import connection as connection_module
from arci.isolation.docker import guest as guest_module
from arci.isolation.docker.guest import exit_of_state
from arci.model.trial import Role

AGENT = ProcessSpec(("agent",))


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """With an ARCI that looks after silent streams at once."""
    for name in ("_RECONCILE_S", "_KILLED_RECONCILE_S", "_DRAIN_S"):
        monkeypatch.setattr(guest_module, name, 0.02)
    with on_fake(tmp_path) as made:
        yield made


def speak(data: bytes, code: int = 0) -> Behaviour:
    def behave(container: FakeContainer) -> None:
        container.write(data)
        container.end(code)

    return behave


def test_a_stream_that_never_yields_nor_closes_meets_our_deadline_while_another_trial_goes_on(fake: Fake) -> None:
    """N4: the guest is given up at its deadline, killed, and its end read from the engine's books."""
    fake.server.closes_streams = False

    def behave(container: FakeContainer) -> None:
        if "good" in container.config["Cmd"]:
            container.write(b"done")
            container.end(0)

    fake.server.behave = behave

    async def main() -> None:
        async with fake.run() as slots, slots.pod(trial()) as stuck, slots.pod(trial("candidate")) as fine:
            silent = await stuck.start(Role.AGENT, AGENT)
            assert await silent.wait(0.05) is None
            good = await ended(await fine.start(Role.AGENT, ProcessSpec(("good",))))
            assert (good.exit.code, good.stdout) == (0, b"done")
            end = await silent.stop(0)
            assert (end.code, end.killed_by_us) == (137, True)
            assert await silent.stop(0) == end
            assert await silent.wait(0) == end

    within(main)
    assert fake.server.containers == {}


def test_a_stream_that_stays_open_after_the_end_is_closed_by_us(fake: Fake) -> None:
    """N26: the engine's books tell the end, a drain time what is still to come; for `wait` and for `output` alike."""
    fake.server.closes_streams = False
    fake.server.behave = speak(b"last words", 7)

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            end = await agent.wait(30)
            assert end is not None
            assert end.code == 7
            grader = await pod.start(Role.GRADER, AGENT)
            assert b"".join([chunk.data async for chunk in grader.output()]) == b"last words"

    within(main)


def test_a_late_reader_gets_everything_of_a_guest_that_has_ended(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody has read yet holds the guest back; its end must not cut what is on its way (N23)."""
    monkeypatch.setattr(guest_module, "_DRAIN_S", LIMIT_S)
    monkeypatch.setattr(guest_module, "_UNREAD_BYTES", 1000)
    monkeypatch.setattr(connection_module, "_READ_BYTES", 1000)
    body = bytes(range(256)) * 4096

    def behave(container: FakeContainer) -> None:
        container.write(body[:4096])  # it is held back before its end is found
        container.state.update(Status="exited", Running=False, ExitCode=3)
        for start in range(4096, len(body), 4096):
            container.write(body[start : start + 4096])
        container.cut()

    fake.server.behave = behave

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            end = await agent.wait(30)
            assert end is not None
            assert end.code == 3
            assert (await ended(agent)).stdout == body

    within(main)


@pytest.mark.parametrize("oom", [False, True])
def test_a_guest_that_something_else_killed_is_data_and_not_our_kill(fake: Fake, oom: bool) -> None:
    """N16: `{137, false}` is told as it is; so is the engine's flag, which is a hint and no proof."""
    fake.server.behave = lambda container: container.end(137, oom=oom)

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            end = await agent.wait(30)
            assert end is not None
            assert (end.code, end.killed_by_us, end.oom_killed) == (137, False, oom)

    within(main)


def test_a_stop_that_comes_after_the_end_claims_nothing(fake: Fake) -> None:
    """N16: 137 is ours only where the engine took our signal."""
    fake.server.behave = lambda container: container.end(137)

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            await until(lambda: fake.server.of_role("agent")[0].state["Status"] == "exited")
            end = await agent.stop(0)
            assert (end.code, end.killed_by_us) == (137, False)

    within(main)


def test_an_end_by_our_term_is_ours_even_if_the_kill_that_follows_comes_too_late(fake: Fake) -> None:
    def on_kill(container: FakeContainer, signal: str) -> None:
        if signal == "SIGTERM":
            container.state.update(Status="exited", Running=False, ExitCode=143)

    fake.server.on_kill = on_kill
    fake.server.closes_streams = False

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            end = await agent.stop(1e-9)
            assert (end.code, end.killed_by_us) == (143, True)

    within(main)


def test_term_and_its_grace_come_before_kill(fake: Fake) -> None:
    signals: list[str] = []

    def on_kill(container: FakeContainer, signal: str) -> None:
        signals.append(signal)
        if signal == "SIGKILL":
            container.end(137)

    fake.server.on_kill = on_kill

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            end = await agent.stop(0.05)
            assert (end.code, end.killed_by_us) == (137, True)

    within(main)
    assert signals == ["SIGTERM", "SIGKILL"]


def test_every_container_is_created_attached_and_started_in_this_order(fake: Fake) -> None:
    """N17, N24: nothing can be printed before we listen, and nothing is waited for before it was started."""

    async def main() -> None:
        async with fake.pod() as pod:
            await pod.start(Role.BOUNDARY, KEEP)
            await pod.start(Role.AGENT, AGENT)

    within(main)
    begun: dict[str, list[str]] = {}
    for request in fake.server.requests:
        method, _, path = request.partition(" ")
        parts = path.split("/")
        if parts[1] == "containers" and len(parts[2]) == 64:
            begun.setdefault(parts[2], []).append(f"{method} {'/'.join(parts[3:])}")
    assert len(begun) == 5, "the probe, two holders, two guests"
    assert all(steps[:2] == ["POST attach", "POST start"] for steps in begun.values()), begun
    assert not any("wait" in request for request in fake.server.requests)
    assert not any(container.config["HostConfig"]["AutoRemove"] for container in fake.server.containers.values())


def test_a_container_that_was_never_started_never_ends_with_0(fake: Fake) -> None:
    """N17: the engine's books say 0 for it."""
    fake.server.answers.append(("POST /containers/0*4/start", 204, ""))  # said, not done; the agent is the fourth

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            assert await agent.wait(0.1) is None
            container = fake.server.of_role("agent")[0]
            assert container.state["StartedAt"] == NEVER
            container.end(0)
            end = await agent.wait(30)
            assert end is not None
            assert (end.code, end.started) == (None, False)

    within(main)


def test_the_engines_words_about_a_failed_start_are_kept() -> None:
    """N17: pure."""
    state: dict[str, object] = {"ExitCode": 127, "StartedAt": NEVER, "OOMKilled": None, "Error": "exec: not found"}
    end = exit_of_state(state, killed_by_us=False)
    assert (end.code, end.started, end.oom_killed, end.detail) == (None, False, None, "exec: not found")


@pytest.mark.parametrize(
    ("raw", "wrong"),
    [(b"\x01\0\0\0\0\0\0\x10half", "in the middle"), (b"no frame at all", "frame header")],
    ids=["cut", "garbage"],
)
def test_a_broken_stream_is_the_engines_fault_and_does_not_keep_the_guest(fake: Fake, raw: bytes, wrong: str) -> None:
    """Output that may be incomplete is never passed on as the guest's own (N21, N23)."""

    def behave(container: FakeContainer) -> None:
        container.write_raw(raw)
        container.cut()

    fake.server.behave = behave

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            async for _chunk in agent.output():
                pass
            with pytest.raises(EngineError, match=wrong):
                await agent.wait(30)
            assert (await agent.stop(0)).code == 137

    within(main)


def test_a_grader_that_never_reads_its_stdin_does_not_hold_up_its_start(fake: Fake) -> None:
    """N28 the other way round: the caller's deadline begins when the guest runs, whatever it reads."""

    def behave(container: FakeContainer) -> None:
        container.killed.wait(60)

    fake.server.behave = behave

    async def main() -> None:
        async with fake.pod() as pod:
            grader = await pod.start(Role.GRADER, ProcessSpec(("grader",), stdin=bytes(8 << 20)))
            assert await grader.wait(0.05) is None
            assert (await grader.stop(0)).killed_by_us

    within(main)


def test_bytes_sent_to_a_guest_that_is_gone_are_dropped(fake: Fake) -> None:
    fake.server.behave = lambda container: container.end(0)

    async def main() -> None:
        async with fake.pod() as pod:
            boundary = await pod.start(Role.BOUNDARY, KEEP)
            await boundary.wait(30)
            await boundary.send(bytes(1 << 20))
            boundary.close()
            await boundary.send(b"and again")

    within(main)


def test_two_readers_of_one_end_get_the_same(fake: Fake) -> None:
    fake.server.behave = speak(b"x", 5)

    async def main() -> None:
        async with fake.run(plan(workers=1)) as slots, slots.pod(trial()) as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            codes: list[int | None] = []

            async def wait() -> None:
                end = await agent.wait(30)
                codes.append(end.code if end is not None else None)

            async with anyio.create_task_group() as tasks:
                for _ in range(3):
                    tasks.start_soon(wait)
            assert codes == [5, 5, 5]

    within(main)
