"""Runs of local processes that are stopped half-way, by a signal or by death: what is left, and what is known."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e import EXAMPLES, Finished, arci, info, records, started, until
from halting import start_halting
from sleepers import AT_ONCE, asleep, sleepers

from arci.isolation.process import directories
from arci.isolation.process.directories import remove_tree, run_directories
from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")


@pytest.fixture(autouse=True)
def _place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Private directories of a place of their own: any other run of this user would sweep what a dead one left."""
    place = Path(tempfile.mkdtemp(prefix="arci-test-", dir="/tmp"))  # short, for the paths of sockets
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(directories, "candidate_bases", lambda: [place])
    yield
    remove_tree(place)


def living(run: Path) -> list[Path]:
    """Processes of the run: each has a directory of the run in its environment or its command line."""
    marks = [os.fsencode(path) for path in run_directories(info(run)["run_id"])]
    return [path for path in Path("/proc").glob("[0-9]*") if any(mark in facts(path) for mark in marks)]


def facts(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
    except OSError:
        return b""


def once(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)


def hang_up(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGHUP)


def terminate(process: subprocess.Popen[str]) -> None:
    process.terminate()


@pytest.mark.parametrize(("stop", "exit_code"), [(once, 130), (hang_up, 129), (terminate, 143)])
def test_a_stopped_run_leaves_nothing_and_knows_what_it_interrupted(
    stop: Callable[[subprocess.Popen[str]], None], exit_code: int, tmp_path: Path
) -> None:
    process, run = asleep(tmp_path, "process")
    assert living(run)
    in_flight = started(run)
    stop(process)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout) == (exit_code, "")
    assert "stopping" in stderr
    assert "Traceback" not in stderr
    assert (living(run), run_directories(info(run)["run_id"])) == ([], [])
    assert (info(run)["state"], set(info(run)["interrupted"]), info(run)["in_flight"]) == ("stopped", in_flight, [])
    assert records(run) == {}


def test_interrupted_trials_are_counted_per_arm_and_are_no_failures(tmp_path: Path) -> None:
    process, run = asleep(tmp_path, "process")
    process.terminate()
    process.communicate()
    ended = arci("gate", run, "--json")
    condition = ended.json["conditions"][0]
    assert (ended.exit_code, ended.json["verdict"]) == (3, "ERROR")
    assert sum(condition["interrupted"].values()) == AT_ONCE
    assert [condition[arm]["n"] for arm in ("baseline", "candidate")] == [0, 0]


def test_a_run_that_is_killed_takes_its_processes_with_it_and_the_next_one_sweeps(tmp_path: Path) -> None:
    process, run = asleep(tmp_path, "process")
    in_flight = started(run)
    process.kill()
    process.communicate()
    until(lambda: not living(run))
    assert (info(run)["state"], run_directories(info(run)["run_id"]) == []) == ("running", False)
    gated = arci("gate", run, "--json")
    assert gated.exit_code == 3
    assert sum(gated.json["conditions"][0]["interrupted"].values()) == len(in_flight) == AT_ONCE
    other = arci("run", sleepers(tmp_path / "other", "process", sleep=False), "--out", tmp_path / "other", "--json")
    assert other.exit_code == 2
    assert run_directories(info(run)["run_id"]) == []


def test_a_signal_that_was_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    """As a shell has it for a job in the background; SIGTERM still ends it."""
    process = subprocess.Popen(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *_command(sleepers(tmp_path, "process"), tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until(lambda: len(started(tmp_path / "sleepers")) == AT_ONCE, 120)
    process.send_signal(signal.SIGINT)
    process.terminate()
    process.communicate()
    assert process.returncode == 143


@pytest.mark.timeout(300)
def test_a_stopped_run_goes_on_to_the_result_of_one_that_was_not(tmp_path: Path) -> None:
    example = EXAMPLES / "retry_agent" / "a-vs-b.yaml"
    options = ("run", example, "--isolation", "process", "--n", 10, "--json")
    run = tmp_path / "stopped" / "retry-a-vs-b"
    begun = (run / "events.jsonl", '"started"', AT_ONCE)
    process = start_halting(*begun, signal.SIGTERM, *options, "--out", tmp_path / "stopped")
    _, errors = process.communicate()
    assert process.returncode == 143, errors
    recorded = len(records(run))
    resumed, whole = arci(*options, "--out", tmp_path / "stopped", "--resume"), arci(*options, "--out", tmp_path)
    assert recorded < len(records(run)) == 20
    assert results(resumed) == results(whole)


def results(ended: Finished) -> dict[str, tuple[str, str, str]]:
    keys = ("outcome", "fingerprint", "trace_sha256")
    return {trial: tuple(record[key] for key in keys) for trial, record in records(ended.run).items()}


def _command(path: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "arci", "run", str(path), "--workers", str(AT_ONCE), "--out", str(out)]
