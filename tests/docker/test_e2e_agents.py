"""Agents that misbehave, hostile evidence, worlds and oracles that break, and command graders: on a real engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import breakdowns
import evidence
import misbehaviour
import pytest
from e2e import Finished, arci, info, records
from graders import PYTHON, SHELL, graded
from ways import Way, check, check_arm, ways_on

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN

pytestmark = pytest.mark.timeout(300)

SMALL = {"backend": "docker", "memory": "96m", "pids": 128}


@pytest.fixture(scope="module")
def misbehaved(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("misbehaviour")
    path = misbehaviour.experiment(directory, "docker", isolation=SMALL)
    return arci("run", path, "--out", directory / "runs", "--json")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("evidence")
    return arci("run", evidence.experiment(directory, "docker"), "--out", directory / "runs", "--json")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("breakdowns")
    return arci("run", breakdowns.experiment(directory, "docker"), "--out", directory / "runs", "--json")


@pytest.mark.parametrize("way", ways_on(misbehaviour.WAYS, "docker"), ids=lambda way: way.name)
def test_an_agent_ends_as_it_should_beside_an_honest_one(way: Way, misbehaved: Finished) -> None:
    check(way, records(misbehaved.run))


def test_misbehaviour_of_the_candidate_alone_blocks(misbehaved: Finished) -> None:
    assert (misbehaved.exit_code, misbehaved.json["verdict"]) == (1, "BLOCK"), misbehaved.stderr


def test_memory_that_ran_out_was_counted_by_the_kernel(misbehaved: Finished) -> None:
    found = {r["task_id"]: r["agent"]["oom_kills"] for r in records(misbehaved.run).values() if r["arm"] == "candidate"}
    killed = {name for name, count in found.items() if count}
    assert killed == {"eats-memory", "loses-a-child-to-memory"}


def test_a_long_log_is_kept_to_its_end_with_its_exact_size(misbehaved: Finished) -> None:
    found = records(misbehaved.run).values()
    record = next(r for r in found if r["task_id"] == "floods-its-log" and r["arm"] == "candidate")
    assert record["logs"]["agent"]["stdout"]["bytes"] == 64 * 65536 + len("\nthe last line\n")
    assert arci("logs", misbehaved.run, record["trial_id"]).stdout.endswith("\nthe last line\n")


@pytest.mark.parametrize("way", ways_on(evidence.WAYS, "docker"), ids=lambda way: way.name)
def test_what_an_agent_leaves_is_judged_by_what_is_declared(way: Way, left: Finished) -> None:
    check(way, records(left.run))


@pytest.mark.parametrize("way", ways_on(breakdowns.WAYS, "docker"), ids=lambda way: way.name)
def test_what_breaks_around_an_agent_is_never_its_fault(way: Way, broken: Finished) -> None:
    for arm in ("baseline", "candidate"):
        check_arm(way, records(broken.run), arm)


def test_broken_trials_make_the_run_an_error(broken: Finished) -> None:
    assert (broken.exit_code, broken.json["verdict"]) == (3, "ERROR")


@pytest.mark.parametrize("language", [SHELL, PYTHON], ids=["sh", "python"])
def test_a_grader_may_be_a_command_in_any_language(language: dict[str, Any], tmp_path: Path) -> None:
    ended = arci("run", graded(tmp_path, "docker", language), "--out", tmp_path / "runs", "--json")
    outcomes = {(r["task_id"], r["outcome"], r["blame"]) for r in records(ended.run).values()}
    assert outcomes == {("right", "PASS", None), ("wrong", "FAIL", "agent"), ("silent", "ERROR", "grader")}


def test_nothing_of_these_runs_is_left(misbehaved: Finished, left: Finished, broken: Finished, engine: Engine) -> None:
    for ended in (misbehaved, left, broken):
        mine = {"label": [f"{RUN}={info(ended.run)['run_id']}"]}
        assert engine.api.containers(all=True, filters=mine) == []
        assert not engine.api.volumes(filters=mine)["Volumes"]
