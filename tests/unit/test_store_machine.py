"""A machine that fails the store: no room, no descriptors, a clock that steps back. It stops, says why, and resumes."""

from __future__ import annotations

import gc
import itertools
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e import EXAMPLES, arci, info, records
from kills import the_same
from runs import manifest_document, trial_parts, with_images

from arci.errors import StoreError
from arci.gate.decide import decide
from arci.isolation.process.native import find_init
from arci.manifest.schedule import schedule
from arci.model.manifest import Manifest
from arci.model.trial import Verdict
from arci.store.files import naming
from arci.store.reader import read_run
from arci.store.resume import resume_run
from arci.store.writer import RunWriter

EXAMPLE = EXAMPLES / "retry_agent" / "a-vs-b.yaml"
N = 20
WITHOUT_INIT = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for a part of a run."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", place], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@WITHOUT_INIT
def test_a_full_disk_stops_the_run_with_the_remedy_and_it_resumes_where_there_is_room(
    small: Path, tmp_path: Path
) -> None:
    command = ("run", EXAMPLE, "--isolation", "process", "--n", N)
    whole = arci(*command, "--out", tmp_path / "whole", "--json")
    stopped = arci(*command, "--out", small, "--workers", 2)
    assert (stopped.exit_code, stopped.stdout) == (3, "")
    assert "No space left on device" in stopped.stderr
    assert "make room on that file system" in stopped.stderr
    assert "--resume" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    run = small / whole.run.name
    before = read_run(run)
    assert [problem for problem in before.problems if not problem.is_torn] == []
    assert 0 < len(before.records) < 2 * N
    assert arci("gate", run).exit_code == 3, "what there is can still be read and is no verdict"

    still_full = arci(*command, "--out", small, "--resume")
    assert (still_full.exit_code, "No space left" in still_full.stderr) == (3, True)
    subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
    resumed = arci(*command, "--out", small, "--resume", "--json")
    assert resumed.exit_code == 2, resumed.stderr
    assert len(records(run)) == 2 * N
    assert read_run(run).problems == ()
    assert {r["record_sha256"] for r in before.records} <= {r["record_sha256"] for r in records(run).values()}
    found, expected = ({**the_same(ended.json), "run": None} for ended in (resumed, whole))
    assert found == expected


@WITHOUT_INIT
def test_a_run_without_descriptors_to_spare_stops_with_the_remedy_and_resumes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "arci", "run", str(EXAMPLE), "--isolation", "process", "--n", "8"]
    command += ["--workers", "8", "--out", str(tmp_path)]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    stopped = subprocess.run(
        ["prlimit", f"--nofile=24:{hard}", "--", *command], capture_output=True, text=True, check=False
    )
    assert stopped.returncode == 3, stopped.stderr
    assert "Too many open files" in stopped.stderr
    assert "ulimit -n" in stopped.stderr
    assert "--workers" in stopped.stderr
    assert "--resume" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    run = tmp_path / "retry-a-vs-b"
    assert read_run(run).problems == ()
    assert info(run)["state"] == "stopped"
    recorded = len(records(run))
    resumed = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=False)
    assert "Traceback" not in resumed.stderr
    assert len(records(run)) == 16
    if recorded == 0:  # a trial whose agent had been started is recorded as ERROR and not made again
        assert resumed.returncode == 2


def test_a_clock_that_steps_back_breaks_nothing(tmp_path: Path) -> None:
    document = manifest_document(n_per_arm=2)
    manifest = Manifest.from_document(document)
    years = itertools.count(2030, -1)
    with RunWriter.create(tmp_path, document, "run", now=lambda: f"{next(years)}-01-01T00:00:00.000+00:00") as writer:
        for trial in schedule(manifest)[:2]:
            record, events, logs = trial_parts(trial, "P")
            record |= {"started_at": f"{next(years)}-06-01T00:00:00.000+00:00"}
            record |= {"ended_at": f"{next(years)}-06-01T00:00:00.000+00:00"}
            writer.started(trial.trial_id, 1)
            writer.append(with_images(record, manifest), events, logs)
        writer.finish("stopped")
    with resume_run(writer.directory, document).writer as writer:
        for trial in schedule(manifest)[2:]:
            record, events, logs = trial_parts(trial, "P")
            writer.append(with_images(record, manifest), events, logs)
        writer.finish("complete")
    stored = read_run(writer.directory)
    assert stored.problems == ()
    assert all(r["started_at"] > r["ended_at"] for r in stored.records[:2])
    assert decide(stored).verdict is not Verdict.BLOCK
    assert decide(stored).reasons == decide(stored).reasons != ()


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_a_store_that_finds_no_descriptor_says_so_and_is_not_torn(limit: int, tmp_path: Path) -> None:
    document = manifest_document(n_per_arm=2)
    manifest = Manifest.from_document(document)
    trial = schedule(manifest)[0]
    record, events, logs = trial_parts(trial, "P")
    with RunWriter.create(tmp_path, document, "run") as writer:
        gc.collect()  # or what earlier tests have left is closed later, and there is a descriptor after all
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = os.open(os.devnull, os.O_RDONLY)
        os.close(taken)
        resource.setrlimit(resource.RLIMIT_NOFILE, (taken + limit, hard))
        try:
            failed = _error(lambda: writer.append(with_images(record, manifest), events, logs))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert failed is None or ("Too many open files" in str(failed) and "ulimit -n" in str(failed))
    assert (failed is None) is (limit > 0)
    stored = read_run(writer.directory)
    assert stored.problems == ()
    assert len(stored.records) == (failed is None)


def _error(call: object) -> StoreError | None:
    try:
        call()  # type: ignore[operator]
    except StoreError as error:
        return error
    return None


def test_an_error_of_the_machine_is_told_with_its_file_and_what_helps(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for code, remedy in ((28, "make room"), (30, "writable"), (24, "ulimit -n"), (122, "quota"), (27, "ulimit -f")):
        with pytest.raises(StoreError, match=f"events.jsonl: .*{remedy}.*--resume"), naming(path):
            raise OSError(code, os.strerror(code))
    with pytest.raises(StoreError) as plain, naming(path):
        raise PermissionError(13, "Permission denied")
    assert plain.value.hint is None


@pytest.mark.parametrize("name", ["events.jsonl", "trials.jsonl"])
def test_a_file_torn_at_any_byte_of_its_last_line_resumes(name: str, tmp_path: Path) -> None:
    document = manifest_document(n_per_arm=1)
    manifest = Manifest.from_document(document)
    first, second = schedule(manifest)
    with RunWriter.create(tmp_path, document, "run") as writer:
        record, events, logs = trial_parts(first, "P")
        writer.append(with_images(record, manifest), events, logs)
    home = writer.directory
    with resume_run(home, document).writer as writer:
        record, events, logs = trial_parts(second, "P")
        kept = {path: path.read_bytes() for path in home.iterdir() if path.is_file()}
        writer.append(with_images(record, manifest), events, logs)
    grown = (home / name).read_bytes()
    start = len(kept[home / name])
    for end in range(start + 1, len(grown), 37):
        for path, data in kept.items():
            path.write_bytes(data)
        (home / name).write_bytes(grown[:end])
        assert [p for p in read_run(home).problems if not p.is_torn] == []
        with resume_run(home, document).writer as writer:
            record, events, logs = trial_parts(second, "P")
            writer.append(with_images(record, manifest), events, logs)
            writer.finish("complete")
        stored = read_run(home)
        assert stored.problems == ()
        assert len(stored.records) == 2
