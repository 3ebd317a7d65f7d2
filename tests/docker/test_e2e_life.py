"""The life of a run on a real engine: what is there while it runs, and what is left however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from e2e import arci, info, records, started, until
from hasty import hasty
from sleepers import AT_ONCE, asleep, sleepers

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import EXPERIMENT, ROLE, RUN, TRIAL

ONE_PRESS_S = {"_ONE_PRESS_S": 60.0}
"""What passes a signal on may itself be kept waiting between the two."""


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A run with `AT_ONCE` agents asleep. Whatever a test does, nothing of it is there afterwards."""
    monkeypatch.setenv("ARCI_SILENCE_MS", "3600000")  # so what ends is told by the end of its owner alone
    with hasty("cli.signals", ONE_PRESS_S):
        process, run = asleep(tmp_path, "docker")
    try:
        until(lambda: len([c for c in alive(run) if c["Labels"][ROLE] == "agent"]) == AT_ONCE)
        yield process, run
    finally:
        process.kill()
        process.communicate()
        until(lambda: not alive(run))
        arci("clean")


def engine_api() -> Any:
    import anyio

    from arci.isolation.docker.engine import connect

    return anyio.run(connect).api


def mine(run: Path) -> dict[str, list[str]]:
    return {"label": [f"{RUN}={info(run)['run_id']}"]}


def containers(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine_api().containers(all=True, filters=mine(run))
    return found


def alive(run: Path) -> list[dict[str, Any]]:
    return [container for container in containers(run) if container["State"] == "running"]


def left(run: Path) -> list[Any]:
    api = engine_api()
    volumes = api.volumes(filters=mine(run))["Volumes"] or []
    return [*containers(run), *volumes, *api.networks(filters=mine(run))]


def interrupt(process: subprocess.Popen[str]) -> None:
    """As a terminal does it, with a wrapper that passes it on as well."""
    os.killpg(process.pid, signal.SIGINT)
    process.send_signal(signal.SIGINT)


def terminate(process: subprocess.Popen[str]) -> None:
    process.terminate()


def test_agent_and_boundary_are_containers_of_their_own(
    running: tuple[subprocess.Popen[str], Path], engine: Engine
) -> None:
    process, run = running
    by_role: dict[str, list[dict[str, Any]]] = {}
    for container in alive(run):
        by_role.setdefault(container["Labels"][ROLE], []).append(container)
    counts = {role: len(found) for role, found in by_role.items()}
    assert counts == {"agent": AT_ONCE, "boundary": AT_ONCE, "holder": 2 * AT_ONCE}
    for role in ("agent", "boundary"):
        assert {container["Labels"][TRIAL] for container in by_role[role]} == started(run)
    for container in alive(run):
        spec = engine.api.inspect_container(container["Id"])["HostConfig"]
        for name in ("Binds", "Privileged", "AutoRemove", "PortBindings", "CapAdd"):
            assert not spec[name] or (name, container["Labels"][ROLE]) == ("CapAdd", "boundary"), name
        assert spec["CapDrop"] == ["ALL"]
        assert spec["ReadonlyRootfs"]
        assert spec["NetworkMode"].partition(":")[0] in ("none", "container")
    assert process.poll() is None


def test_a_grader_is_a_third_container_that_comes_when_the_agent_is_gone(tmp_path: Path, engine: Engine) -> None:
    out = tmp_path / "runs"
    path = sleepers(tmp_path, "docker", sleep=False)
    with life(engine, "sleepers") as events:
        run = arci("run", path, "--out", out, "--json").run
        until(lambda: len(told(events, run)) >= 2 * 3 * len(records(run)))  # start and end of three
    order: dict[str, list[str]] = {trial: [] for trial in records(run)}
    for trial, what in told(events, run):
        order[trial].append(what)
    for seen in order.values():
        roles = ("agent", "boundary", "grader")
        assert sorted(seen) == sorted(f"{role} {what}" for role in roles for what in ("start", "die"))
        assert seen.index("boundary start") < seen.index("agent start")
        assert seen.index("agent die") < seen.index("grader start")
    assert left(run) == []


def told(events: list[dict[str, Any]], run: Path) -> list[tuple[str, str]]:
    """Of the run's guests: the trial, and such as `agent start`."""
    run_id, found = info(run)["run_id"], [(event["Actor"]["Attributes"], event["Action"]) for event in events]
    return [(facts[TRIAL], f"{facts[ROLE]} {what}") for facts, what in found if facts[RUN] == run_id and TRIAL in facts]


@contextmanager
def life(engine: Engine, experiment: str) -> Iterator[list[dict[str, Any]]]:
    """Starts and ends of an experiment's containers, as the engine tells them meanwhile."""
    filters = {"type": "container", "event": ["start", "die"], "label": [f"{EXPERIMENT}={experiment}"]}
    stream, found = engine.api.events(filters=filters, decode=True), list[dict[str, Any]]()
    listener = threading.Thread(target=lambda: found.extend(iter(stream)))
    listener.start()
    try:
        yield found
    finally:
        stream.close()
        listener.join()


@pytest.mark.parametrize(("stop", "exit_code"), [(interrupt, 130), (terminate, 143)])
def test_a_stopped_run_leaves_nothing_and_knows_what_it_interrupted(
    stop: Callable[[subprocess.Popen[str]], None], exit_code: int, running: tuple[subprocess.Popen[str], Path]
) -> None:
    process, run = running
    in_flight = started(run)
    stop(process)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (exit_code, "")
    assert "Traceback" not in stderr
    assert left(run) == []
    assert (info(run)["state"], set(info(run)["interrupted"]), info(run)["in_flight"]) == ("stopped", in_flight, [])
    assert records(run) == {}


def test_what_a_killed_run_started_stops_and_the_next_one_removes_it(
    running: tuple[subprocess.Popen[str], Path], tmp_path: Path
) -> None:
    process, run = running
    in_flight = started(run)
    assert len(alive(run)) == 4 * AT_ONCE
    process.kill()
    process.communicate()
    until(lambda: not alive(run))
    assert info(run)["state"] == "running"
    gated = arci("gate", run, "--json")
    assert gated.exit_code == 3
    assert sum(gated.json["conditions"][0]["interrupted"].values()) == len(in_flight) == AT_ONCE
    other = arci("run", sleepers(tmp_path / "other", "docker", sleep=False), "--out", tmp_path / "other", "--json")
    assert {record["outcome"] for record in records(other.run).values()} == {"PASS"}
    until(lambda: left(run) == [])  # the sweep of somebody else may have been first, and be under way


def test_cleaning_leaves_a_living_run_alone(running: tuple[subprocess.Popen[str], Path]) -> None:
    process, run = running
    before = {container["Id"] for container in alive(run)}
    cleaned = arci("clean", "--json")
    assert cleaned.exit_code == 0
    assert info(run)["run_id"] not in cleaned.json["runs"]
    assert {container["Id"] for container in alive(run)} == before
    assert process.poll() is None
