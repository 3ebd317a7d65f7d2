"""Slots that broke are replaced, and dead runs that cannot be removed get in nobody's way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_container import CLOCK_S, FakeContainer
from pods import KEEP, Fake, ended, on_fake, plan, trial, until, within

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.slots import DockerSlots
from arci.isolation.docker.sweep import sweep
from arci.model.trial import Role

AGENT = ProcessSpec(("agent",))
DEAD_RUN = {"dev.arci.run": "dead", "dev.arci.role": "agent"}


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    with on_fake(tmp_path) as made:
        yield made
        assert not made.server.answers, f"never asked for: {made.server.answers}"


def test_a_slot_whose_guests_could_not_be_ended_is_not_used_again(fake: Fake) -> None:
    """What may still live in its namespaces must not meet the next trial."""

    first: set[str] = set()

    async def unkillable(slots: DockerSlots) -> None:
        async with slots.pod(trial(number=0)) as pod:
            await pod.start(Role.BOUNDARY, KEEP)
            agent = await pod.start(Role.AGENT, AGENT)
            fake.server.answers = [(f"POST /containers/{agent.container_id}/kill", 500, "cannot kill")]
            first.update(holder.id for holder in fake.server.of_role("holder"))

    async def main() -> None:
        async with fake.run() as slots:
            with pytest.raises(EngineError, match="cannot kill"):
                await unkillable(slots)
            async with slots.pod(trial(number=1)) as pod:
                await pod.start(Role.BOUNDARY, KEEP)
                joined = fake.server.of_role("boundary")[-1].config["HostConfig"]["NetworkMode"]
                assert joined.removeprefix("container:") not in first

    within(main)
    assert fake.server.containers == {}


def test_a_slot_whose_holder_died_is_replaced(fake: Fake) -> None:
    async def main() -> None:
        async with fake.run() as slots:
            async with slots.pod(trial(number=0)):
                pass
            dead = fake.server.of_role("holder")
            dead[0].end(137)
            await until(lambda: any(slot.is_alive is False for slot in slots._idle["baseline"]))
            async with slots.pod(trial(number=1)) as pod:
                await pod.start(Role.AGENT, AGENT)
                assert not {holder.id for holder in dead} & {
                    fake.server.of_role("agent")[0].config["HostConfig"]["NetworkMode"].removeprefix("container:")
                }

    within(main)


def test_a_holder_that_says_something_else_is_an_error_with_its_words(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(container: FakeContainer) -> None:
        container.write(b"arci-init: out of files\n", 2)
        container.end(71)

    monkeypatch.setattr("fake_container.hold", broken)

    async def main() -> None:
        async with fake.pod():
            pass

    with pytest.raises(EngineError, match="out of files"):
        within(main)
    assert (fake.server.containers, fake.server.volumes) == ({}, {})


def dead_run(fake: Fake, name: str) -> None:
    container = FakeContainer(name * 64, f"left-{name}", {"Labels": DEAD_RUN, "HostConfig": {"Mounts": []}, "Cmd": []})
    container.state.update(Status="exited", Created=CLOCK_S - 3600)
    fake.server.containers[container.id] = container


def test_what_a_dead_run_left_and_will_not_go_refuses_no_other_run(fake: Fake) -> None:
    """N5, N10: everything else is swept; the preflight warns; the run goes on."""
    dead_run(fake, "a")
    dead_run(fake, "b")
    stuck = 3 * [("DELETE /containers/a", 500, "cannot be killed")]

    async def main() -> None:
        fake.server.answers = list(stuck)
        found = await DockerIsolation(fake.engine).check(plan())
        assert found.problems == ()
        assert any("aaaaaaaaaaaa: cannot be killed" in warning for warning in found.warnings)
        fake.server.answers = list(stuck)
        async with fake.pod() as pod:
            assert (await ended(await pod.start(Role.AGENT, AGENT))).exit.code == 0

    fake.server.behave = lambda container: container.end(0)
    within(main)
    assert list(fake.server.containers) == ["a" * 64]


def test_a_sweep_says_what_it_could_not_remove_after_it_has_tried_everything(fake: Fake) -> None:
    dead_run(fake, "a")
    dead_run(fake, "b")
    fake.server.answers = 3 * [("DELETE /containers/a", 500, "cannot be killed")]
    fake.server.answers += [("DELETE /containers/b", 409, "removing")]

    async def main() -> None:
        await sweep(fake.engine)

    with pytest.raises(EngineError, match="aaaaaaaaaaaa: cannot be killed"):
        within(main)
    assert fake.server.requests.count(f"DELETE /containers/{'b' * 64}") == 1
