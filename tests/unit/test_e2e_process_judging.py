"""Grading in whole trials as local processes: hostile evidence, worlds and oracles that break, command graders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import breakdowns
import evidence
import pytest
from e2e import Finished, arci, records
from graders import PYTHON, SHELL, graded
from ways import Way, check, check_arm, ways_on

from arci.isolation.process.archive import MOST_DEPTH
from arci.isolation.process.native import find_init
from arci.run import evidence as limits

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("evidence")
    return arci("run", evidence.experiment(directory, "process"), "--out", directory / "runs", "--json")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("breakdowns")
    return arci("run", breakdowns.experiment(directory, "process"), "--out", directory / "runs", "--json")


@pytest.mark.parametrize("way", ways_on(evidence.WAYS, "process"), ids=lambda way: way.name)
def test_what_an_agent_leaves_is_judged_by_what_is_declared(way: Way, left: Finished) -> None:
    check(way, records(left.run))


def test_a_link_is_named_and_not_followed(left: Finished) -> None:
    found = {record["task_id"]: record for record in records(left.run).values() if record["arm"] == "candidate"}
    for name in ("links-to-a-file-outside", "links-to-the-right-answer", "leaves-a-pipe-for-the-answer"):
        assert found[name]["evidence"]["files"] == {}
        assert found[name]["contract"]["success"] is False


def test_files_are_recorded_by_size_and_digest_and_not_the_undeclared_ones(left: Finished) -> None:
    found = {record["task_id"]: record for record in records(left.run).values() if record["arm"] == "candidate"}
    files = found["leaves-big-things-undeclared"]["evidence"]["files"]
    assert {name: facts["bytes"] for name, facts in files.items()} == {"out/answer.txt": len("forty-two")}


def test_trees_may_be_as_deep_on_every_back_end() -> None:
    assert limits.MOST_DEPTH == MOST_DEPTH


@pytest.mark.parametrize("arm", ["baseline", "candidate"])
@pytest.mark.parametrize("way", ways_on(breakdowns.WAYS, "process"), ids=lambda way: way.name)
def test_what_breaks_around_an_agent_is_never_its_fault(way: Way, arm: str, broken: Finished) -> None:
    check_arm(way, records(broken.run), arm)


def test_broken_trials_make_the_run_an_error_that_names_them(broken: Finished) -> None:
    errors = [key for key, record in records(broken.run).items() if record["outcome"] == "ERROR"]
    assert (broken.exit_code, broken.json["verdict"]) == (3, "ERROR")
    assert sum(broken.json["conditions"][0][arm]["errors"] for arm in ("baseline", "candidate")) == len(errors) == 20
    assert errors[0] in arci("gate", broken.run).stdout


def test_what_could_not_be_made_was_tried_again_and_only_that(broken: Finished) -> None:
    attempts = {record["task_id"]: len(record["attempts"]) for record in records(broken.run).values()}
    assert {name for name, count in attempts.items() if count} == {"the-world-cannot-be-made"}


@pytest.mark.parametrize("language", [SHELL, PYTHON], ids=["sh", "python"])
def test_a_grader_may_be_a_command_in_any_language(language: dict[str, Any], tmp_path: Path) -> None:
    ended = arci("run", graded(tmp_path, "process", language), "--out", tmp_path / "runs", "--json")
    outcomes = {(r["task_id"], r["outcome"], r["blame"]) for r in records(ended.run).values()}
    assert outcomes == {("right", "PASS", None), ("wrong", "FAIL", "agent"), ("silent", "ERROR", "grader")}
