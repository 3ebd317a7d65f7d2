"""The life of a run: slots, namespaces and what becomes of everything when the owner dies or leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pods import KEEP, LIMIT_S, ended, of_run, plan, python, runtime_image, trial, until, volumes_of_run, within

from arci.isolation.base import RunPlan
from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.findings import FILES, FILES_PER_WORKER
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.slots import DockerSlots
from arci.isolation.docker.sweep import sweep
from arci.model.trial import Role

STUBBORN = python(
    "import os, signal, time; signal.signal(15, signal.SIG_IGN); os.fork() or os.setsid(); time.sleep(600)"
)
"""An agent that heeds no polite word, with a child in a session of its own."""
NO_SILENCE = {"ARCI_SILENCE_MS": "3600000"}
"""What ends then was told by the end of its owner alone."""
OWNER = """
import signal, sys, anyio
signal.signal(signal.SIGINT, signal.default_int_handler)
from pods import *
from arci.isolation.docker.isolation import DockerIsolation
from arci.model.trial import Role
from test_pod_life import STUBBORN
async def main():
    run = plan(sys.argv[1])
    async with (
        DockerIsolation().open(run) as slots,
        slots.pod(trial("baseline")) as one,
        slots.pod(trial("candidate")) as other,
    ):
        for pod in (one, other):
            await pod.start(Role.BOUNDARY, KEEP)
            await pod.start(Role.AGENT, STUBBORN)
            await pod.start(Role.GRADER, STUBBORN)
        print(run.run_id, flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


@pytest.fixture(scope="module")
def image(engine: Engine) -> str:
    return runtime_image(engine)


FILES_HELD = """
import gc, sys, anyio
from pathlib import Path
from pods import *
from arci.isolation.docker.engine import connect
from arci.isolation.docker.isolation import DockerIsolation
from arci.model.trial import Role
from test_pod_life import STUBBORN
def open_files():
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))
async def main():
    engine = await connect()
    async with DockerIsolation(engine).open(plan(sys.argv[1], workers=2)) as slots:
        async with slots.pod(trial("baseline", 0)), slots.pod(trial("baseline", 1)):
            pass  # their holders stay
        async with slots.pod(trial("candidate", 0)) as one, slots.pod(trial("candidate", 1)) as other:
            for pod in (one, other):
                for role in (Role.BOUNDARY, Role.AGENT, Role.GRADER):
                    await pod.start(role, STUBBORN)
            print(open_files() - before)
    engine.close()
before = open_files()
anyio.run(main)
print(open_files() - before)
"""


@contextmanager
def owner(image: str) -> Iterator[tuple[subprocess.Popen[bytes], RunPlan]]:
    """A process with a run whose pods are at work."""
    environment = {**os.environ, **NO_SILENCE, "PYTHONPATH": str(Path(__file__).parent)}
    argv = [sys.executable, "-c", OWNER, image]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            run_id = process.stdout.readline().decode().strip()
            assert run_id, "the owner did not come up"
            yield process, RunPlan(run_id, plan(image).manifest, 2)
        finally:
            process.kill()


@pytest.mark.timeout(300)
def test_everything_stops_with_its_owner_and_the_next_sweep_takes_that_run_alone(engine: Engine, image: str) -> None:
    """N1, N10: nobody is asked to stop anything; a second, living run keeps all it has."""
    living = plan(image)

    async def main() -> None:
        async with DockerIsolation(engine).open(living) as slots, slots.pod(trial()) as pod:
            await pod.start(Role.BOUNDARY, KEEP)
            await pod.start(Role.AGENT, STUBBORN)
            mine = {row["Id"] for row in of_run(engine, living, everything=False)}
            assert len(mine) == 4
            with owner(image) as (process, dead):
                assert len(of_run(engine, dead, everything=False)) == 10
                assert len(volumes_of_run(engine, dead)) == 4
                process.send_signal(signal.SIGKILL)
                await until(lambda: not of_run(engine, dead, everything=False))
            found = await sweep(engine)
            assert dead.run_id in found.run_ids or not of_run(engine, dead), "another sweep was faster"
            await until(lambda: (of_run(engine, dead), volumes_of_run(engine, dead)) == ([], []))  # by whom ever
            assert living.run_id not in found.run_ids
            assert {row["Id"] for row in of_run(engine, living, everything=False)} == mine

    within(main, 4 * LIMIT_S)


def test_an_owner_that_is_interrupted_removes_everything(engine: Engine, image: str) -> None:
    """N2: everything is gone when the process is, and its exit code says that it was not the end of the run."""
    with owner(image) as (process, run):
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) != 0
        assert (of_run(engine, run), volumes_of_run(engine, run)) == ([], [])


async def namespaces(engine: Engine, slots: DockerSlots, run: RunPlan, *arms: str) -> list[str]:
    """What the agents of pods one after another join."""
    joined = []
    for arm in arms:
        async with slots.pod(trial(arm)) as pod:
            agent = await pod.start(Role.AGENT, python(""))
            inspected = engine.api.inspect_container(agent.container_id)
            joined.append(str(inspected["HostConfig"]["NetworkMode"]))
    return joined


def test_a_slot_serves_one_trial_after_another_of_one_arm_only(engine: Engine, image: str) -> None:
    """Nothing that a candidate does to a namespace can meet a trial of the baseline."""
    run = plan(image)

    async def main() -> None:
        async with DockerIsolation(engine).open(run) as slots:
            first, other, again = await namespaces(engine, slots, run, "baseline", "candidate", "baseline")
            assert first == again != other

    within(main)


@pytest.mark.parametrize("limits", [{"fresh_namespace": True}, {"read_only": False}], ids=str)
def test_holders_are_made_per_trial_where_namespaces_could_be_marked(
    engine: Engine, image: str, limits: dict[str, Any]
) -> None:
    run = plan(image, **limits)

    async def main() -> None:
        async with DockerIsolation(engine).open(run) as slots:
            first, second = await namespaces(engine, slots, run, "baseline", "baseline")
            assert first != second

    within(main)


def test_a_writable_root_does_not_reach_into_the_next_trial(engine: Engine, image: str) -> None:
    """The engine gives joined containers their holder's /etc/hosts, writable where the root is."""
    run = plan(image, read_only=False)
    code = "import sys; print('poison' in open('/etc/hosts').read()); open('/etc/hosts', 'a').write('1.1.1.1 poison')"

    async def main() -> None:
        async with DockerIsolation(engine).open(run) as slots:
            for number in range(2):
                async with slots.pod(trial(number=number)) as pod:
                    said = await ended(await pod.start(Role.AGENT, python(code)))
                    assert (said.exit.code, said.stdout) == (0, b"False\n"), said

    within(main)


def test_two_arms_at_once_have_nothing_in_common(engine: Engine, image: str) -> None:
    """N8: the same scenario in both arms at the same time makes no name twice."""
    run = plan(image)

    async def main() -> None:
        async with (
            DockerIsolation(engine).open(run) as slots,
            slots.pod(trial("baseline")) as one,
            slots.pod(trial("candidate")) as other,
        ):
            for pod in (one, other):
                await pod.start(Role.BOUNDARY, KEEP)
                await pod.start(Role.AGENT, STUBBORN)
            rows = of_run(engine, run)
            assert len(rows) == 8
            assert len({name for row in rows for name in row["Names"]}) == 8
            assert not any(":" in name for row in rows for name in row["Names"])
            assert one.listen != other.listen

    within(main)


def test_a_credential_helper_that_is_not_there_breaks_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: str
) -> None:
    """N34: all images are here, so nobody needs to be asked for a password."""
    (tmp_path / "config.json").write_text(json.dumps({"credsStore": "nonexistent"}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    run = plan(image)

    async def main() -> None:
        engine = await connect()
        try:
            isolation = DockerIsolation(engine)
            assert (await isolation.check(run)).problems == ()
            async with isolation.open(run) as slots, slots.pod(trial()) as pod:
                assert (await ended(await pod.start(Role.AGENT, python("print(1)")))).stdout == b"1\n"
        finally:
            engine.close()

    within(main)


def test_open_files_stay_within_what_the_preflight_counts_and_all_are_given_back(image: str) -> None:
    """N38: a worker in full swing has slots in both arms and three guests. In a process of its own: what else a session
    of tests has open comes and goes."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    argv = [sys.executable, "-c", FILES_HELD, image]
    done = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, check=True)
    in_full_swing, afterwards = map(int, done.stdout.split())
    assert in_full_swing <= 2 * FILES_PER_WORKER + FILES // 2
    assert afterwards == 0
