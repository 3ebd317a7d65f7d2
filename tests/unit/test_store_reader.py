"""Stores that were cut, damaged, swapped or are none: problems as data, never an exception."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runs import edit_info, make_run, manifest_document, read_jsonl, trial_parts, with_images, write_records

from arci.errors import StoreError
from arci.manifest.schedule import schedule
from arci.model.canonical import canonical
from arci.model.manifest import Manifest
from arci.store.reader import read_events, read_log, read_record, read_run
from arci.store.writer import RunWriter


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return make_run(tmp_path, outcomes={"baseline": "PPP", "candidate": "PPF"})


def messages(store: Path) -> str:
    return "\n".join(str(problem) for problem in read_run(store).problems)


def test_a_directory_that_is_no_store_is_the_only_exception(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such directory"):
        read_run(tmp_path / "none")
    with pytest.raises(StoreError, match="not a run store"):
        read_run(tmp_path)


@pytest.mark.parametrize("name", ["manifest.json", "run.json", "trials.jsonl", "events.jsonl"])
@pytest.mark.parametrize("damage", ["missing", "empty", "directory", "fifo", "binary", "loop"])
def test_a_damaged_file_is_named_as_a_problem(store: Path, name: str, damage: str) -> None:
    path = store / name
    path.unlink()
    if damage == "directory":
        path.mkdir()
    elif damage == "fifo":
        os.mkfifo(path)
    elif damage == "loop":
        path.symlink_to(path)
    elif damage != "missing":
        path.write_bytes({"empty": b"", "binary": bytes(range(256)) * 99}[damage])
    problems = read_run(store).problems
    assert any(name in problem.where or name in problem.message for problem in problems)


@pytest.mark.parametrize("name", ["run.json", "trials.jsonl", "events.jsonl"])
def test_a_foreign_file_is_named_as_a_problem(  # what manifest.json says is for the gate to judge
    store: Path, name: str
) -> None:
    (store / name).write_bytes(b'{"hello":"world"}\n')
    assert name in messages(store)


@pytest.mark.parametrize("dropped", [1, 2, 6])
def test_history_cut_at_a_record_boundary_does_not_verify(store: Path, dropped: int) -> None:  # N74
    records = read_jsonl(store / "trials.jsonl")
    write_records(store, records[:-dropped], reseal=False)
    assert f"run.json: it counts 6 records, trials.jsonl has {6 - dropped} readable ones" in messages(store)


def test_a_history_that_was_cut_and_continued_does_not_verify(store: Path) -> None:  # N74
    records = read_jsonl(store / "trials.jsonl")
    write_records(store, [*records[:-1], {**records[-1], "record_sha256": "f" * 64}], reseal=False)
    assert "run.json: record 6 of trials.jsonl is not the one whose digest it holds" in messages(store)


def test_a_stop_between_record_and_run_file_is_accepted_with_a_note(store: Path) -> None:
    records = read_jsonl(store / "trials.jsonl")
    edit_info(store, state="running", records=5, last_record_sha256=records[4]["record_sha256"], ended_at=None)
    run = read_run(store)
    assert run.problems == ()
    assert "one record more than run.json counts" in run.notes[0]


def test_a_finished_run_has_no_such_excuse(store: Path) -> None:
    records = read_jsonl(store / "trials.jsonl")
    edit_info(store, records=5, last_record_sha256=records[4]["record_sha256"])
    assert "it counts 5 records, trials.jsonl has 6" in messages(store)


def test_two_records_more_are_a_problem_even_while_running(store: Path) -> None:
    records = read_jsonl(store / "trials.jsonl")
    edit_info(store, state="running", records=4, last_record_sha256=records[3]["record_sha256"])
    assert "it counts 4 records, trials.jsonl has 6" in messages(store)


def test_a_torn_last_line_is_recognised_and_told(store: Path) -> None:
    for name in ("trials.jsonl", "events.jsonl"):
        data = (store / name).read_bytes()
        (store / name).write_bytes(data[:-10])
    torn = [problem for problem in read_run(store).problems if problem.is_torn]
    assert [problem.where for problem in torn] == ["trials.jsonl:6", "events.jsonl:30"]
    assert "have no newline" in torn[0].message


def test_a_dropped_line_of_events_names_its_trial(store: Path) -> None:
    lines = (store / "events.jsonl").read_bytes().splitlines(keepends=True)
    trial_id = json.loads(lines[7])["trial_id"]
    (store / "events.jsonl").write_bytes(b"".join(lines[:7] + lines[8:]))
    told = messages(store)
    assert f"events.jsonl: trial {trial_id}: the events that its record sealed are not there whole" in told
    assert "run.json: it counts 30 lines, events.jsonl has 29" in told


def test_events_of_another_trial_in_its_place_do_not_verify(store: Path) -> None:
    lines = (store / "events.jsonl").read_bytes().splitlines(keepends=True)
    one, other = json.loads(lines[1])["trial_id"], json.loads(lines[6])["trial_id"]
    lines[1:5] = [line.replace(other.encode(), one.encode()) for line in lines[6:10]]
    (store / "events.jsonl").write_bytes(b"".join(lines))
    assert f"trial {one}: the chain of its 4 events does not hold" in messages(store)


def test_events_of_a_trial_that_was_cut_off_before_its_record_are_excused(tmp_path: Path) -> None:
    document = manifest_document(n_per_arm=1)
    manifest = Manifest.from_document(document)
    first, second = schedule(manifest)
    with RunWriter.create(tmp_path, document, "run") as writer:
        writer.started(first.trial_id, 1)
        record, events, logs = trial_parts(first, "P")
        writer.append(with_images(record, manifest), events, logs)
        before = {name: (writer.directory / name).read_bytes() for name in ("trials.jsonl", "run.json")}
        writer.started(second.trial_id, 1)
        record, events, logs = trial_parts(second, "F")
        writer.append(with_images(record, manifest), events, logs)
    for name, data in before.items():
        (writer.directory / name).write_bytes(data)  # as if the power went off after the events
    run = read_run(writer.directory)
    assert run.problems == ()
    assert run.in_flight == (second.trial_id,)
    with pytest.raises(StoreError, match="no record of trial"):
        read_events(writer.directory, second.trial_id)


def test_the_sealed_events_are_found_beside_those_of_an_interrupted_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = manifest_document(n_per_arm=1)
    manifest = Manifest.from_document(document)
    trial = schedule(manifest)[0]
    record, events, logs = trial_parts(trial, "P")
    with RunWriter.create(tmp_path, document, "run") as writer:
        writer.started(trial.trial_id, 1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", _no_room_for(b'"record_sha256"'))
            with pytest.raises(StoreError, match=r"trials\.jsonl"):
                writer.append(with_images(record, manifest), [*events[:2], events[3]], {})
        writer.interrupt([trial.trial_id])
        writer.started(trial.trial_id, 1)
        writer.append(with_images(record, manifest), events, logs)
    run = read_run(writer.directory)
    assert run.problems == ()
    assert run.interrupted == (trial.trial_id,)
    assert len(read_jsonl(writer.directory / "events.jsonl")) == 2 + 3 + 4
    assert [event["kind"] for event in read_events(writer.directory, trial.trial_id)] == [e["kind"] for e in events]


@pytest.mark.parametrize("damage", ["changed", "missing", "longer", "directory"])
def test_a_log_that_is_not_what_was_sealed_names_trial_and_stream(store: Path, damage: str) -> None:
    path = sorted((store / "logs").iterdir())[0]
    if damage in ("missing", "directory"):
        path.unlink()
    if damage == "directory":
        path.mkdir()
    if damage in ("changed", "longer"):
        data = path.read_bytes()
        path.write_bytes(data + b"x" if damage == "longer" else data[:-1] + b"x")
    assert "logs: trial reserve-timeout:00000:baseline: stdout of agent: " in messages(store)
    with pytest.raises(StoreError, match="stdout of agent of trial 'reserve-timeout:00000:baseline'"):
        read_log(store, "reserve-timeout:00000:baseline", "agent", "stdout")


def test_all_logs_gone_is_a_problem_per_log(store: Path) -> None:
    shutil.rmtree(store / "logs")
    assert messages(store).count("stdout of agent: missing") == 6


@pytest.mark.parametrize(("role", "stream"), [("agent", "stdin"), ("nobody", "stdout"), ("../..", "stdout")])
def test_a_log_that_no_record_knows_is_refused(store: Path, role: str, stream: str) -> None:
    with pytest.raises(StoreError, match="has no"):
        read_log(store, "reserve-timeout:00000:baseline", role, stream)


def test_a_trial_that_is_not_there_is_refused_with_examples(store: Path) -> None:
    with pytest.raises(StoreError, match=r"no record of trial 'x'\. Hint: there are reserve-timeout:00000:baseline, "):
        read_record(store, "x")


@pytest.mark.parametrize("key", ["records", "interrupted", "state", "last_record_sha256", "started_at", "engine"])
def test_a_run_file_of_another_shape_is_a_problem_even_when_it_is_sealed(store: Path, key: str) -> None:
    edit_info(store, **{key: {"other": "shape"} if key != "engine" else 7})
    run = read_run(store)
    assert run.info is None
    assert "run.json: keys are missing or of another type" in messages(store)


@pytest.mark.parametrize("records", [[], [{}], [{"trial_id": 7, "logs": []}], [{"trial_id": "x", "recording": 1}]])
def test_records_of_any_shape_are_read_without_an_exception(store: Path, records: list[dict[str, Any]]) -> None:
    (store / "trials.jsonl").write_bytes(b"".join(canonical(record) + b"\n" for record in records))
    run = read_run(store)
    assert len(run.records) == len(records)
    assert run.problems


def _no_room_for(mark: bytes) -> Callable[[int, bytes, int], int]:
    write = os.pwrite

    def pwrite(fd: int, data: bytes | memoryview, offset: int) -> int:
        if mark in bytes(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data, offset)

    return pwrite
