"""A run that died or was stopped is completed by exactly the trials that it misses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from halting import start_halting

from arci.errors import UsageError
from arci.store.reader import read_run
from arci.store.resume import resume_run

EXAMPLE = Path(__file__).parents[2] / "examples" / "retry_agent" / "a-vs-b.yaml"
N = 20


def _arci(out: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "arci", "run", str(EXAMPLE), "--isolation", "process", "--json"]
    return subprocess.Popen(
        [*command, "--n", str(N), "--out", str(out), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _killed_once_it_has_records(out: Path, trials: Path, least: int) -> None:
    options = ("run", EXAMPLE, "--isolation", "process", "--json", "--n", N, "--out", out)
    run = start_halting(trials, "\n", least, signal.SIGKILL, *options)
    _, errors = run.communicate()
    assert run.returncode == -signal.SIGKILL, errors


@pytest.mark.timeout(300)
def test_a_killed_run_resumes_with_the_missing_trials_and_the_same_decision(tmp_path: Path) -> None:
    whole = _arci(tmp_path / "whole")
    expected = json.loads(whole.communicate()[0])
    store = tmp_path / "killed" / "retry-a-vs-b"
    _killed_once_it_has_records(tmp_path / "killed", store / "trials.jsonl", 5)
    before = read_run(store)
    assert 5 <= len(before.records) < 2 * N

    resumed = _arci(tmp_path / "killed", "--resume")
    out, errors = resumed.communicate()
    assert resumed.returncode == 2, errors
    after = read_run(store)
    ids = [record["trial_id"] for record in after.records]
    assert len(ids) == len(set(ids)) == 2 * N
    assert [r["record_sha256"] for r in after.records[: len(before.records)]] == [
        r["record_sha256"] for r in before.records
    ], "what was recorded is kept as it is"
    assert not after.problems
    assert set(before.in_flight) <= set(after.interrupted)
    found = json.loads(out)
    for name in ("verdict", "exit_code", "manifest_sha256", "k_conditions", "n_per_arm"):
        assert found[name] == expected[name]
    for key in ("delta_low", "delta_high", "baseline", "candidate", "injections"):
        assert found["conditions"][0][key] == expected["conditions"][0][key]


def test_a_run_of_another_manifest_is_not_resumed(tmp_path: Path) -> None:
    short = _arci(tmp_path, "--n", "8")
    short.communicate()
    assert short.returncode == 2
    store = tmp_path / "retry-a-vs-b"
    document = dict(read_run(store).manifest or {})
    with pytest.raises(UsageError, match="something that is sealed has changed"):
        resume_run(store, {**document, "record_sha256": "0" * 64})


def test_without_a_run_there_is_nothing_to_resume(tmp_path: Path) -> None:
    run = _arci(tmp_path, "--resume")
    assert "no run to resume" in run.communicate()[1]
    assert run.returncode == 64
