"""Ends of a run that nobody planned, on a real engine: a second Ctrl-C, a hang-up, a holder that dies, a neighbour."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e import arci, info, records, started, until
from pods import of_run
from sleepers import AT_ONCE, asleep, sleepers

from arci.isolation.base import RunPlan
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import ROLE, TRIAL

pytestmark = pytest.mark.timeout(300)

ENDS_S = 120.0
"""A guard, no measurement."""
Running = tuple[subprocess.Popen[str], Path]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """A run with `AT_ONCE` agents asleep. Whatever a test does, nothing of it is there afterwards."""
    process, run = asleep(tmp_path, "docker")
    try:
        yield process, run
    finally:
        process.kill()
        process.communicate()


def plan_of(run: Path) -> RunPlan:
    return RunPlan(info(run)["run_id"], conformance_plan("docker").manifest, 1)


def alive(engine: Engine, run: Path, role: str | None = None) -> list[dict[str, Any]]:
    rows = of_run(engine, plan_of(run), everything=False)
    return [row for row in rows if role in (None, row["Labels"][ROLE])]


def at_work(engine: Engine, run: Path) -> list[dict[str, Any]]:
    return until(lambda: rows if len(rows := alive(engine, run)) == 4 * AT_ONCE else [])


def test_a_second_interrupt_ends_at_once_and_says_what_removes_the_rest(running: Running, engine: Engine) -> None:
    """N2: nothing waits for the engine any more. What runs ends by itself; the store is as whole as after a kill."""
    process, run = running
    at_work(engine, run)
    in_flight = started(run)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    first = next(line for line in iter(process.stderr.readline, "") if "stopping" in line)
    time.sleep(0.1)  # less is one press
    process.send_signal(signal.SIGINT)
    stdout, rest = process.communicate(timeout=ENDS_S)
    assert (process.returncode, stdout) == (130, "")
    assert "Ctrl-C again" in first
    assert "Traceback" not in rest
    until(lambda: not alive(engine, run))
    assert arci("clean").exit_code == 0
    assert of_run(engine, plan_of(run)) == []
    if "stopped at once" in rest:  # else the clean stop was faster
        assert "arci clean" in rest
        gated = arci("gate", run, "--json")
        assert sum(gated.json["conditions"][0]["interrupted"].values()) == len(in_flight)
    else:
        assert info(run)["state"] == "stopped"


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
