"""Ends of a run that nobody planned, on a real engine: Ctrl-C, a hang-up, a holder that dies, a neighbour."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sleepers as sleepers_module
from e2e import arci, info, records, started, until
from pods import of_run, remove_run, volumes_of_run
from sleepers import AT_ONCE, asleep, sleepers

from arci.isolation.base import RunPlan
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import ROLE, RUN, TRIAL
from arci.store.reader import read_run

pytestmark = pytest.mark.timeout(300)

ENDS_S = 120.0
"""A guard, no measurement."""
LIVE = 8
"""Trials under way at a Ctrl-C."""
Running = tuple[subprocess.Popen[str], Path]


@pytest.fixture
def running(tmp_path: Path, engine: Engine) -> Iterator[Running]:
    """A run with `AT_ONCE` agents asleep. Whatever a test does, nothing of it is there afterwards."""
    process, run = asleep(tmp_path, "docker")
    try:
        yield process, run
    finally:
        process.kill()
        process.communicate()
        remove_run(engine, info(run)["run_id"])


@pytest.fixture
def eight(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """The same with eight agents and all their containers there."""
    monkeypatch.setattr(sleepers_module, "AT_ONCE", LIVE)
    process, run = asleep(tmp_path, "docker")
    try:
        until(lambda: len(alive(engine, run)) == 4 * LIVE)
        yield process, run
    finally:
        process.kill()
        process.communicate()
        until(lambda: not alive(engine, run))
        arci("clean")


def plan_of(run: Path) -> RunPlan:
    return RunPlan(info(run)["run_id"], conformance_plan("docker").manifest, 1)


def alive(engine: Engine, run: Path, role: str | None = None) -> list[dict[str, Any]]:
    rows = of_run(engine, plan_of(run), everything=False)
    return [row for row in rows if role in (None, row["Labels"][ROLE])]


def at_work(engine: Engine, run: Path) -> list[dict[str, Any]]:
    return until(lambda: rows if len(rows := alive(engine, run)) == 4 * AT_ONCE else [])


def left(engine: Engine, run: Path) -> list[Any]:
    """Everything with the run's label."""
    plan = plan_of(run)
    networks = engine.api.networks(filters={"label": [f"{RUN}={plan.run_id}"]})
    return [*of_run(engine, plan), *volumes_of_run(engine, plan), *networks]


def press(process: subprocess.Popen[str]) -> None:
    """Ctrl-C, as a terminal sends it: to the whole process group."""
    os.killpg(process.pid, signal.SIGINT)


def test_one_press_is_a_clean_stop_with_a_sealed_part_of_the_run(eight: Running, engine: Engine) -> None:
    process, run = eight
    in_flight = started(run)
    press(process)
    stdout, stderr = process.communicate(timeout=ENDS_S)
    assert (process.returncode, stdout) == (130, "")
    assert "Traceback" not in stderr
    assert left(engine, run) == []
    told = info(run)
    assert (told["state"], set(told["interrupted"]), told["in_flight"]) == ("stopped", in_flight, [])
    assert len(in_flight) == LIVE
    assert (read_run(run).problems, records(run)) == ((), {})


def test_a_second_interrupt_ends_at_once_and_says_what_removes_the_rest(eight: Running, engine: Engine) -> None:
    process, run = eight
    in_flight = started(run)
    press(process)
    time.sleep(0.1)  # less is one press
    press(process)
    stdout, stderr = process.communicate(timeout=ENDS_S)
    assert (process.returncode, stdout) == (130, "")
    assert "Traceback" not in stderr
    command = re.search(r"stopped at once: .*, or by: (.*)\n", stderr)
    if command is None:  # the clean stop was faster
        assert left(engine, run) == []
        return
    # What it had asked the engine to remove goes on being removed, and is nobody else's to remove meanwhile.
    until(lambda: not {"running", "removing"} & {row["State"] for row in of_run(engine, plan_of(run))})
    words = command[1].replace("arci clean", f"{sys.executable} -m arci clean")
    assert words != command[1]
    subprocess.run(["sh", "-c", words], check=True, capture_output=True)
    until(lambda: left(engine, run) == [])
    assert read_run(run).problems == ()
    gated = arci("gate", run, "--json")
    assert gated.exit_code == 3
    assert sum(gated.json["conditions"][0]["interrupted"].values()) == len(in_flight) == LIVE


def test_a_hang_up_is_a_clean_stop(running: Running, engine: Engine) -> None:
    """A terminal that was closed, a connection that was lost."""
    process, run = running
    in_flight = started(run)
    process.send_signal(signal.SIGHUP)
    stdout, stderr = process.communicate(timeout=ENDS_S)
    assert (process.returncode, stdout) == (129, ""), stderr
    assert of_run(engine, plan_of(run)) == []
    assert (info(run)["state"], set(info(run)["interrupted"])) == ("stopped", in_flight)


def test_a_holder_that_dies_costs_its_own_trial_which_is_no_failure_of_the_agent(
    running: Running, engine: Engine
) -> None:
    process, run = running
    rows = at_work(engine, run)
    agents = {str(row["Id"]): row["Labels"] for row in rows if row["Labels"][ROLE] == "agent"}
    victim, labels = next(iter(agents.items()))
    # Until it sleeps it has not begun, and its attempt would be made again.
    until(lambda: any("sleep" in " ".join(row) for row in engine.api.top(victim)["Processes"]))
    holder = engine.api.inspect_container(victim)["HostConfig"]["NetworkMode"].removeprefix("container:")
    engine.api.kill(holder)
    record = until(lambda: records(run).get(labels[TRIAL], {}))
    assert (record["outcome"], record["blame"]) != ("FAIL", "agent")
    assert record["outcome"] == "ERROR", record
    others = {agent for agent in agents if agent != victim}
    assert others <= {str(row["Id"]) for row in alive(engine, run, "agent")}
    assert process.poll() is None


def test_two_runs_on_one_engine_do_not_meet(running: Running, engine: Engine, tmp_path: Path) -> None:
    """N10: a run from its sweep to its end leaves another one alone, whose slots come and go."""
    process, run = running
    before = {str(row["Id"]) for row in at_work(engine, run)}
    awake = sleepers(tmp_path / "other", "docker", sleep=False)
    awake.write_text(awake.read_text().replace('"isolation": "docker"', '"isolation": {"fresh_namespace": true}'))
    other = arci("run", awake, "--isolation", "docker", "--out", tmp_path / "other", "--json")
    assert other.stdout, other.stderr
    assert {record["outcome"] for record in records(other.run).values()} == {"PASS"}
    assert {str(row["Id"]) for row in alive(engine, run)} == before
    assert of_run(engine, plan_of(other.run)) == []
    assert process.poll() is None
