"""Whole runs on a machine that breaks under them: an ERROR or a clean stop that resumes, with cause and remedy, and no
trial that came out otherwise than it would have."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e import EXAMPLES, Finished, arci, info, records
from halting import halted
from hasty import hasty
from meddler import Meddler, Rule, drop, fail, hold_open, late, meddler
from pods import remove_run

from arci.isolation.docker.engine import Engine

pytestmark = pytest.mark.timeout(600)

EXPERIMENT = (EXAMPLES / "retry_agent" / "a-vs-b.yaml", "--n", 4)
PLANNED = 2 * 4
KEYS = ("seed", "outcome", "ending", "blame", "trace_sha256", "final_state")
ENDS_S = 300.0
"""A guard, no measurement."""
CREATE, ATTACH, START = "^POST /containers/create", r"^POST /containers/\w+/attach", r"^POST /containers/\w+/start"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the trials come to on a machine that is well."""
    ended = arci("run", *EXPERIMENT, "--isolation", "process", "--out", tmp_path_factory.mktemp("well"), "--json")
    return told(records(ended.run))


def told(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {trial: {key: record[key] for key in KEYS} for trial, record in found.items()}


def run(meddling: Meddler, out: Path, *args: object) -> Finished:
    return arci("run", *EXPERIMENT, "--isolation", "docker", "--out", out, *args, "--json", env=meddling.env)


def one_by_one(path: Path) -> tuple[object, ...]:
    """`arci run --json`, one trial after another, into the run at `path`."""
    return ("run", *EXPERIMENT, "--isolation", "docker", "--workers", 1, "--out", path.parent, "--json")


def has_begun(path: Path) -> bool:
    """Whether the first trial is recorded in the run at `path`."""
    return (path / "trials.jsonl").exists() and bool(records(path))


def is_true(run: Path, expected: dict[str, dict[str, Any]]) -> None:
    """Every trial came out as it should, or is an ERROR that nobody blames on the agent."""
    for trial, record in told(records(run)).items():
        if record["outcome"] == "ERROR":
            assert record["blame"] in ("engine", "harness", "machine"), record
        else:
            assert record == expected[trial]


def resumes(run: Path, expected: dict[str, dict[str, Any]]) -> None:
    """On the engine itself; what is complete and true then, was whole before."""
    before = records(run)
    out = run.parent
    resumed = arci("run", *EXPERIMENT, "--isolation", "docker", "--out", out, "--resume", "--json")
    assert resumed.stdout, resumed.stderr
    after = records(run)
    assert len(after) == PLANNED
    assert before.items() <= after.items()
    is_true(run, expected)


@pytest.fixture
def before_engine(engine: Engine, tmp_path: Path) -> Callable[..., Any]:
    return lambda *rules: meddler(tmp_path, engine.endpoint, *rules)


HARMLESS = {
    "late starts": Rule(START, late(1.0), every=3),
    "streams that never end": Rule(ATTACH, hold_open),
}
SILENCES_S = {"_RECONCILE_S": 0.3, "_DRAIN_S": 1.0}
"""How long a stream is silent before the engine is asked, and then until it is closed: all of it is waited for. What is
on its way through the meddler must come within the latter."""


@pytest.mark.parametrize("name", HARMLESS)
def test_what_an_engine_takes_its_time_for_changes_no_trial(
    name: str, before_engine: Callable[..., Any], expected: dict[str, Any], tmp_path: Path
) -> None:
    """N9, N26."""
    with before_engine(HARMLESS[name]) as meddling, hasty("isolation.docker.guest", SILENCES_S):
        ended = run(meddling, tmp_path / "runs")
    assert ended.stdout, ended.stderr
    assert told(records(ended.run)) == expected


ONCE_IN_A_WHILE = {
    "a create is a 500": (CREATE, fail(500, "driver failed")),
    "an attach is dropped": (ATTACH, drop),
    "a start is dropped": (START, drop),
}


@pytest.mark.parametrize("name", ONCE_IN_A_WHILE)
def test_what_breaks_once_in_a_while_is_made_again_or_an_error(
    name: str, before_engine: Callable[..., Any], expected: dict[str, Any], tmp_path: Path
) -> None:
    """Once it has begun: what breaks in preflight refuses the run."""
    path = tmp_path / "runs" / "retry-a-vs-b"
    rule = Rule(*ONCE_IN_A_WHILE[name], every=9, when=lambda: has_begun(path))
    with before_engine(rule) as meddling:
        ended = arci(*one_by_one(path), env=meddling.env)
    assert rule.done, "nothing was broken"
    assert "Traceback" not in ended.stderr
    is_true(path, expected)
    if ended.stdout:
        assert len(records(path)) == PLANNED
    else:
        assert ended.exit_code == 3, ended.stderr


FOR_GOOD = {
    "the disk is full": (fail(500, "write /var/lib: no space left on device"), "no space left", "arci images prune"),
    "nothing but 500": (fail(500, "internal trouble"), "internal trouble", "--resume"),
    "no answer at all": (drop, "connection to the engine broke", "--resume"),
}


@pytest.mark.parametrize("name", FOR_GOOD)
def test_what_breaks_for_good_stops_the_run_with_cause_and_remedy_and_is_resumed(
    name: str, before_engine: Callable[..., Any], expected: dict[str, Any], tmp_path: Path
) -> None:
    """N36, N49: the rest of the trials is not spent on it."""
    act, cause, remedy = FOR_GOOD[name]
    path = tmp_path / "retry-a-vs-b"
    with before_engine(Rule(CREATE, act, when=lambda: has_begun(path))) as meddling:
        ended = arci(*one_by_one(path), env=meddling.env)
    assert (ended.exit_code, ended.stdout) == (3, ""), ended.stderr
    assert "Traceback" not in ended.stderr
    assert cause in ended.stderr
    assert remedy in ended.stderr
    assert info(path)["state"] == "stopped"
    assert 0 < len(records(path)) < PLANNED
    resumes(path, expected)


def open_files_taken(process: subprocess.Popen[str]) -> None:
    """From now on it may open nothing more."""
    taken = len(list(Path("/proc", str(process.pid), "fd").iterdir()))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (taken // 2, taken))


def test_a_run_that_has_no_open_files_left_stops_and_is_resumed(
    expected: dict[str, Any], engine: Engine, tmp_path: Path
) -> None:
    """N38: in mid-run, where no preflight can see it."""
    path = tmp_path / "retry-a-vs-b"
    with halted(path, *one_by_one(path)) as process:
        open_files_taken(process)
    stdout, stderr = process.communicate(timeout=ENDS_S)
    assert (process.returncode, stdout) == (3, ""), stderr
    assert "Too many open files" in stderr
    assert "ulimit -n" in stderr
    assert len(records(path)) < PLANNED
    is_true(path, expected)
    remove_run(engine, info(path)["run_id"])  # it could open nothing to do so itself
    resumes(path, expected)
