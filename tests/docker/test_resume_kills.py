"""SIGKILL at twenty moments of a run of sixty trials in containers, each followed by a resume."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import docker.errors
import pytest
from e2e import info, recorded, records
from kills import disturbed, the_same

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import OWNER, RUN, Leftovers, dead_leftovers
from arci.store.reader import read_run

N = 30
KILLS = 20


@pytest.fixture
def _what_a_sweep_takes_later(engine: Engine) -> Iterator[None]:
    """A holder that was made and not started may be a young run's: a sweep leaves those of the last kills alone for two
    minutes, which nobody waits for here."""

    def dead(now_s: float) -> Leftovers:
        filters = {"label": [RUN, f"{OWNER}={os.environ['ARCI_OWNER']}"]}  # no run of others
        volumes = engine.api.volumes(filters=filters)["Volumes"] or ()
        return dead_leftovers(engine.api.containers(all=True, filters=filters), volumes, now_s=now_s)

    in_an_hour = time.time() + 3600
    before = dead(in_an_hour)
    yield
    after = dead(in_an_hour)
    for container_id in set(after.containers) - set(before.containers):
        with suppress(docker.errors.APIError):  # a sweep of others was faster
            engine.api.remove_container(container_id, v=True, force=True)
    for name in set(after.volumes) - set(before.volumes):
        with suppress(docker.errors.APIError):
            engine.api.remove_volume(name, force=True)


@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("_what_a_sweep_takes_later")
def test_twenty_kills_change_nothing_that_is_decided(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two workers: each resume makes holders for every worker and arm, which is most of what it costs."""
    ended, whole = recorded(tmp_path_factory, "retry_agent/a-vs-b.yaml", "docker", N)
    assert ended.exit_code == 2, ended.stderr
    run, seen = disturbed(whole / "manifest.json", tmp_path, whole, kills=KILLS, seed=7, workers=2)
    assert len(seen) == KILLS
    assert seen == sorted(seen), "a record was lost"
    assert seen[KILLS // 2] > N // 2, "the kills are spread over the run"
    stored = read_run(run)
    assert stored.problems == ()
    assert len(stored.records) == len(records(run)) == 2 * N
    found, expected = (json.loads((r / "decision.json").read_bytes()) for r in (run, whole))
    assert the_same(found) == the_same(expected)
    interrupted = found["conditions"][0]["interrupted"]
    assert sum(interrupted.values()) == len(stored.interrupted) == len(info(run)["interrupted"]) > 0
