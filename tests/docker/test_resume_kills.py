"""SIGKILL at twenty moments of a run of sixty trials in containers, each followed by a resume."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e import EXAMPLES, arci, info, records
from kills import disturbed, the_same

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN, Leftovers, dead_leftovers
from arci.store.reader import read_run

N = 30
KILLS = 20


@pytest.fixture
def _what_a_sweep_takes_later(engine: Engine) -> Iterator[None]:
    """A holder that was made and not started may be a young run's: a sweep leaves those of the last kills alone for two
    minutes, which nobody waits for here."""

    def dead(now_s: float) -> Leftovers:
        filters = {"label": [RUN]}
        volumes = engine.api.volumes(filters=filters)["Volumes"] or ()
        return dead_leftovers(engine.api.containers(all=True, filters=filters), volumes, now_s=now_s)

    in_an_hour = time.time() + 3600
    before = dead(in_an_hour)
    yield
    after = dead(in_an_hour)
    for container_id in set(after.containers) - set(before.containers):
        engine.api.remove_container(container_id, v=True, force=True)
    for name in set(after.volumes) - set(before.volumes):
        engine.api.remove_volume(name, force=True)


@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("_what_a_sweep_takes_later")
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
