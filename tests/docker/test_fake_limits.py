"""What this machine, not the engine, lacks: found before trial 1, in a process that really has too little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_container import PROBE
from fake_engine import fake_engine
from pods import LIMIT_S

from arci.isolation.docker.findings import too_few_files

PROGRAM = """
import json, resource, sys
limit, workers = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
import anyio
from pods import plan
from arci.isolation.docker.engine import connect
from arci.isolation.docker.isolation import DockerIsolation
async def main():
    found = await DockerIsolation(await connect()).check(plan(workers=workers))
    print(json.dumps(found.problems))
anyio.run(main)
"""


def check(directory: Path, *, limit: int, workers: int) -> list[str]:
    """The problems that a process with so few open files finds for a run of so many workers."""
    with fake_engine(directory) as server:
        environment = {**os.environ, "DOCKER_HOST": f"unix://{server.path}", "PYTHONPATH": str(Path(__file__).parent)}
        argv = [sys.executable, "-c", PROGRAM, str(limit), str(workers)]
        done = subprocess.run(argv, env=environment, capture_output=True, timeout=LIMIT_S, check=True)
        assert server.containers == {}
    problems: list[str] = json.loads(done.stdout)
    return problems


def test_more_workers_than_open_files_allow_are_refused_with_both_numbers(tmp_path: Path) -> None:
    """N38: before the first container of a trial, and with a number of workers that would do."""
    (problem,) = check(tmp_path, limit=256, workers=64)
    assert "832" in problem
    assert "256" in problem
    assert "--workers 16" in problem


def test_the_workers_named_there_are_not_refused(tmp_path: Path) -> None:
    assert check(tmp_path, limit=256, workers=16) == []


@pytest.mark.parametrize(("workers", "limit", "fits"), [(2, 1024, True), (80, 1024, True), (81, 1024, False)])
def test_open_files_are_counted_by_worker(workers: int, limit: int, fits: bool) -> None:
    assert (too_few_files(workers, limit) == ()) is fits


def test_a_limit_of_open_files_that_is_none_is_never_too_low() -> None:
    assert too_few_files(10_000, -1) == ()


def test_an_engine_that_ignores_limits_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """N37: the preflight's container reads its own limits; a full disk is found there, too (N49)."""
    monkeypatch.setitem(PROBE, "memory", "9223372036854771712")
    monkeypatch.setitem(PROBE, "pids", "max")
    monkeypatch.setitem(PROBE, "free_bytes", 1 << 20)
    limits, disk = check(tmp_path, limit=1024, workers=2)
    assert "limits not enforced" in limits
    assert "memory" in limits
    assert "processes" in limits
    assert "1 MiB free" in disk
