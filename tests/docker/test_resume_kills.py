"""SIGKILL at twenty moments of a run of sixty trials in containers, each followed by a resume."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e import EXAMPLES, arci, info, records
from kills import disturbed, the_same

from arci.store.reader import read_run

N = 30
KILLS = 20


@pytest.mark.timeout(1200)
def test_twenty_kills_change_nothing_that_is_decided(tmp_path: Path) -> None:
    sealed, example = tmp_path / "sealed.json", EXAMPLES / "retry_agent" / "a-vs-b.yaml"
    assert arci("seal", example, "--isolation", "docker", "--n", N, "--out", sealed).exit_code == 0
    whole = arci("run", sealed, "--out", tmp_path / "whole", "--json")
    assert whole.exit_code == 2, whole.stderr
    run, seen = disturbed(sealed, tmp_path / "killed", whole.run, kills=KILLS, seed=7)
    assert len(seen) == KILLS
    assert seen == sorted(seen), "a record was lost"
    assert seen[KILLS // 2] > N // 2, "the kills are spread over the run"
    stored = read_run(run)
    assert stored.problems == ()
    assert len(stored.records) == len(records(run)) == 2 * N
    found, expected = (json.loads((r / "decision.json").read_bytes()) for r in (run, whole.run))
    assert the_same(found) == the_same(expected)
    interrupted = found["conditions"][0]["interrupted"]
    assert sum(interrupted.values()) == len(stored.interrupted) == len(info(run)["interrupted"]) > 0
