"""The chain of life where the engine is elsewhere: it is killed, or the wire to it is cut. What was recorded is whole
and can be resumed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from dockerds import OtherEngine, answers
from e2e import EXAMPLES, arci, info, records, start_arci, started, until
from proxy import wire
from reach import connected, of_runs
from sleepers import AT_ONCE, sleepers

from arci.isolation.docker.labels import HOLDER, ROLE, RUN

pytestmark = pytest.mark.timeout(600)

EXPERIMENT = EXAMPLES / "retry_agent" / "a-vs-b.yaml"
ENDS_S = 150.0
"""A guard, no measurement."""
SILENCE_MS = "8000"
"""How long guests live on without a sign of life: short for a test, long for a loaded machine."""


@pytest.fixture
def mortal(started: Callable[[str], OtherEngine]) -> Iterator[OtherEngine]:
    """An engine that a test may kill. Afterwards it is at work again, and nothing of a run is on it."""
    other = started("mortal")
    yield other
    revive(other)
    until(lambda: is_clean(other), 2 * ENDS_S)


def is_clean(other: OtherEngine) -> bool:
    """After a clean-up. A run is alive as long as one of its holders is, which may still wait for a sign of life; and
    what nobody started may be a young run's for two minutes."""
    return arci("clean", env=other.variables).exit_code == 0 and of_runs(other) == []


def revive(other: OtherEngine) -> None:
    def is_back() -> bool:
        if answers(other.env):
            return True
        other.machine.start_engine()  # again and again: it may still have been dying
        return False

    until(is_back, ENDS_S)


@contextmanager
def running(
    env: Mapping[str, str | None], out: Path, *args: object, ready: Callable[[Path], bool]
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """`arci run ARGS` once it is `ready`, and its run directory; killed at the end if it still runs."""
    process = start_arci("run", *args, "--out", out, env=env)
    try:
        until(lambda: process.poll() is not None or any(ready(run) for run in out.glob("*")), ENDS_S)
        assert process.poll() is None, process.communicate()
        yield process, next(out.glob("*"))
    finally:
        process.kill()
        process.communicate()


@contextmanager
def sleeping(env: Mapping[str, str | None], directory: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run with `AT_ONCE` agents asleep."""
    path = sleepers(directory / "project", "docker")
    asleep = ("--workers", AT_ONCE)
    with running(env, directory / "runs", path, *asleep, ready=lambda run: len(started(run)) == AT_ONCE) as found:
        yield found


def alive(other: OtherEngine) -> list[str]:
    """Ids of the containers of runs that are running."""
    engine = connected(other.env)
    ids = [row["Id"] for row in engine.api.containers(filters={"label": [RUN]})]
    engine.close()
    return ids


def at_work(other: OtherEngine) -> list[str]:
    """The same, once every container of `AT_ONCE` trials is there."""
    return until(lambda: ids if len(ids := alive(other)) == 4 * AT_ONCE else [], ENDS_S)


def has_processes(container_id: str) -> bool:
    """As the kernel has it: an engine that is dead tells nothing."""
    path = Path("/sys/fs/cgroup/pids/docker", container_id, "cgroup.procs")
    unified = Path("/sys/fs/cgroup/docker", container_id, "cgroup.procs")
    try:
        return bool((path if path.parents[2].is_dir() else unified).read_text())
    except OSError:
        return False


def stopped_cleanly(process: subprocess.Popen[str], run: Path) -> str:
    """What `arci` said when it ended by itself with a store that is whole; trials in flight are known as such."""
    in_flight = started(run) - set(records(run))
    stdout, stderr = process.communicate(timeout=ENDS_S)
    assert (process.returncode, stdout) == (3, ""), stderr
    assert "Traceback" not in stderr
    assert info(run)["state"] == "stopped"
    assert in_flight <= set(info(run)["interrupted"]) | set(records(run))
    assert {record["outcome"] for record in records(run).values()} <= {"PASS", "FAIL", "ERROR"}
    return stderr


def test_an_engine_that_is_killed_stops_the_run_and_ends_what_ran_when_it_starts_again(
    mortal: OtherEngine, tmp_path: Path
) -> None:
    """N36. While it is dead nobody can reach its containers: Docker's shims keep their streams open for it."""
    with sleeping(mortal.variables, tmp_path) as (process, run):
        ids = at_work(mortal)
        assert all(map(has_processes, ids))
        mortal.machine.kill_engine()
        said = stopped_cleanly(process, run)
        assert "the connection to the engine broke" in said
        assert "arci clean" in said
        revive(mortal)
        until(lambda: not any(map(has_processes, ids)), ENDS_S)


@pytest.mark.parametrize("arci_dies", [False, True], ids=["arci lives", "arci is killed"])
def test_what_ran_on_an_engine_that_is_killed_ends_by_itself(
    mortal: OtherEngine, tmp_path: Path, arci_dies: bool
) -> None:
    """The engine does not start again, so nobody ends anything: the guests have heard no sign of life for too long."""
    env = {**mortal.variables, "ARCI_SILENCE_MS": SILENCE_MS}
    with sleeping(env, tmp_path) as (process, run):
        ids = at_work(mortal)
        assert all(map(has_processes, ids))
        mortal.machine.kill_engine()
        if arci_dies:
            process.kill()
        until(lambda: not any(map(has_processes, ids)), ENDS_S)
        if not arci_dies:
            stopped_cleanly(process, run)
    assert not answers(mortal.env)


def test_a_guest_that_is_told_of_life_outlives_one_that_is_not(mortal: OtherEngine, tmp_path: Path) -> None:
    env = {**mortal.variables, "ARCI_SILENCE_MS": SILENCE_MS}
    with sleeping(env, tmp_path) as (process, _), closing(connected(mortal.env)) as engine:
        ids = at_work(mortal)
        untold = untold_holder(engine.api, ids)
        assert engine.api.wait(untold)["StatusCode"] == 0
        engine.api.remove_container(untold)
        assert sorted(alive(mortal)) == sorted(ids)
        assert process.poll() is None


def untold_holder(api: Any, ids: list[str]) -> str:
    """A running holder like one of these, to whose stdin nobody is attached."""
    found = [api.inspect_container(container_id) for container_id in ids]
    holder = next(f for f in found if f["Config"]["Labels"][ROLE] == HOLDER and "--listen" not in f["Config"]["Cmd"])
    config = {name: holder["Config"][name] for name in ("Image", "Entrypoint", "Cmd", "User")}
    made = api.create_container_from_config({**config, "OpenStdin": True, "HostConfig": {"NetworkMode": "none"}})
    api.start(made["Id"])
    return str(made["Id"])


def test_a_run_whose_engine_was_killed_is_resumed_to_its_end(mortal: OtherEngine, tmp_path: Path) -> None:
    planned = 2 * 12
    options = (EXPERIMENT, "--n", 12, "--isolation", "docker")
    with running(mortal.variables, tmp_path, *options, ready=lambda run: len(recorded(run)) >= 4) as (process, run):
        mortal.machine.kill_engine()
        assert "--resume" in stopped_cleanly(process, run)
        before = recorded(run)
        assert len(before) < planned
    revive(mortal)
    resumed = arci("run", *options, "--out", tmp_path, "--resume", "--json", env=mortal.variables)
    assert resumed.stdout, resumed.stderr
    after = records(run)
    assert len(after) == planned
    assert {trial: after[trial]["record_sha256"] for trial in before} == before
    assert info(run)["state"] == "complete"


def recorded(run: Path) -> dict[str, str]:
    """Trial -> digest of its record; none while there is no run yet."""
    if not (run / "trials.jsonl").exists():
        return {}
    return {trial: record["record_sha256"] for trial, record in records(run).items()}


def test_a_wire_that_is_cut_ends_everything_on_both_sides(mortal: OtherEngine, tmp_path: Path) -> None:
    """The engine is well and hears nothing more of `arci`: what was started ends by itself."""
    with wire(mortal.env["DOCKER_HOST"].removeprefix("unix://")) as link:
        env = {**mortal.variables, "DOCKER_HOST": link.url}
        with sleeping(env, tmp_path) as (process, run):
            at_work(mortal)
            link.cut()
            until(lambda: not alive(mortal), ENDS_S)
            said = stopped_cleanly(process, run)
    assert "the connection to the engine broke" in said
    assert link.url in said or "clean up" in said


def test_a_wire_that_goes_silent_ends_what_ran_on_the_engine(mortal: OtherEngine, tmp_path: Path) -> None:
    """No side is told that the other cannot be heard any more."""
    with wire(mortal.env["DOCKER_HOST"].removeprefix("unix://")) as link:
        env = {**mortal.variables, "DOCKER_HOST": link.url, "ARCI_SILENCE_MS": SILENCE_MS}
        with sleeping(env, tmp_path):
            at_work(mortal)
            link.fall_silent()
            until(lambda: not alive(mortal), ENDS_S)
