"""What keeps a run alive in the eyes of another `arci`, and what a second Ctrl-C tells, where no engine is needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from fake_container import CLOCK_S, FakeContainer
from pods import LIMIT_S, Fake, plan, trial, until, within

from arci.cli.signals import clean_command
from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.labels import HOLDER, dead_leftovers
from arci.isolation.docker.sweep import find_leftovers
from arci.model.trial import Role

AGENT = ProcessSpec(("agent",))


def living_holders(fake: Fake) -> list[FakeContainer]:
    return [holder for holder in fake.server.of_role(HOLDER) if holder.state["Running"]]


@pytest.mark.parametrize("limits", [{"fresh_namespace": True}, {"read_only": False}], ids=str)
def test_a_run_between_two_trials_is_alive_to_the_sweep_of_another(fake: Fake, limits: dict[str, Any]) -> None:
    """N10: its holders of one trial are gone and those of the next are not there yet."""
    run = plan(**limits)

    async def main() -> None:
        async with DockerIsolation(fake.engine).open(run) as slots:
            async with slots.pod(trial(number=0)):
                assert len(living_holders(fake)) == 3
            await until(lambda: len(fake.server.of_role(HOLDER)) == 1)
            fake.server.volumes["arci-slot-next"] = {
                "Name": "arci-slot-next",
                "Labels": {"dev.arci.run": run.run_id},
                "CreatedAt": "2026-01-01T00:00:00Z",
            }
            for holder in fake.server.of_role(HOLDER):
                holder.state["Created"] = CLOCK_S - 3600
            found = await find_leftovers(fake.engine)
            assert (found.run_ids, found.volumes) == ((), ())
            del fake.server.volumes["arci-slot-next"]

    within(main)
    assert (fake.server.containers, fake.server.volumes) == ({}, {})


def test_a_run_whose_slots_stay_needs_no_other_sign_of_life(fake: Fake) -> None:
    async def main() -> None:
        async with fake.pod():
            assert len(living_holders(fake)) == 2

    within(main)


@pytest.mark.parametrize("code", [137, 143])
def test_an_agent_that_went_with_its_holder_is_no_failure_of_its_own(fake: Fake, code: int) -> None:
    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            assert agent.holder is not None
            fake.server.containers[agent.holder.container_id].end(137)
            fake.server.containers[agent.container_id].end(code)
            with pytest.raises(EngineError, match="the container that holds it"):
                await agent.wait(LIMIT_S)
            with pytest.raises(EngineError, match="the container that holds it"):
                await agent.stop(0)

    within(main)
    assert fake.server.containers == {}


@pytest.mark.parametrize("code", [0, 1, 143])
def test_an_agent_that_ended_by_itself_is_what_it_says(fake: Fake, code: int) -> None:
    """With 143, too, as long as its holder lives."""

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            fake.server.containers[agent.container_id].end(code)
            end = await agent.wait(LIMIT_S)
            assert end is not None
            assert (end.code, end.killed_by_us) == (code, False)

    within(main)


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        ({}, "arci clean"),
        ({"DOCKER_HOST": "tcp://h:1", "OTHER": "x"}, "DOCKER_HOST=tcp://h:1 arci clean"),
        ({"DOCKER_CONTEXT": "my context"}, "DOCKER_CONTEXT='my context' arci clean"),
    ],
)
def test_the_command_that_cleans_names_the_engine(environ: dict[str, str], command: str) -> None:
    assert clean_command(environ) == command


STUBBORN = """
import signal, sys, anyio
signal.signal(signal.SIGINT, signal.default_int_handler)
from arci.cli.signals import run_interruptibly
async def main():
    try:
        sys.stderr.write("ready\\n")
        sys.stderr.flush()
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep_forever()
run_interruptibly(main)
"""
"""A command whose clean-up never ends."""


@pytest.fixture
def stubborn() -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "DOCKER_HOST": "tcp://far:2375"}
    argv = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def test_a_second_interrupt_waits_for_no_clean_up(stubborn: subprocess.Popen[str]) -> None:
    """N2: at once, with the command that removes what is left."""
    assert stubborn.stderr is not None
    stubborn.send_signal(signal.SIGINT)
    assert "Ctrl-C again" in stubborn.stderr.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        stubborn.wait(0.1)
    stubborn.send_signal(signal.SIGINT)
    assert stubborn.wait(LIMIT_S) == 130
    said = stubborn.stderr.read()
    assert "stopped at once" in said
    assert said.endswith("DOCKER_HOST=tcp://far:2375 arci clean\n")


def test_other_signals_do_not_cut_a_clean_up_short(stubborn: subprocess.Popen[str]) -> None:
    """A CI host sends SIGTERM some seconds after SIGINT, and means to be waited for."""
    assert stubborn.stderr is not None
    stubborn.send_signal(signal.SIGINT)
    assert "stopping" in stubborn.stderr.readline()
    stubborn.send_signal(signal.SIGTERM)
    assert "still stopping" in stubborn.stderr.readline()
    assert stubborn.poll() is None


def test_holders_are_swept_after_those_that_joined_them() -> None:
    """Podman refuses to remove a container whose namespace another one has."""
    rows = [
        {"Id": role, "State": "exited", "Created": CLOCK_S, "Labels": {"dev.arci.run": "dead", "dev.arci.role": role}}
        for role in (HOLDER, "agent", "boundary")
    ]
    assert dead_leftovers(rows, [], now_s=CLOCK_S).containers == ("agent", "boundary", HOLDER)
