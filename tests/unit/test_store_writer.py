"""What the writer refuses, seals and leaves behind."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from runs import make_run, manifest_document, trial_parts, with_images

from arci.errors import StoreError, UsageError
from arci.manifest.schedule import schedule
from arci.model.canonical import canonical
from arci.model.manifest import Manifest
from arci.store.layout import log_name
from arci.store.logs import LogTail
from arci.store.prior import prior_runs
from arci.store.reader import read_events, read_log, read_record, read_run
from arci.store.writer import RunWriter

DOCUMENT = manifest_document(n_per_arm=2)
MANIFEST = Manifest.from_document(DOCUMENT)
PLAN = schedule(MANIFEST)


def append(writer: RunWriter, number: int, letter: str = "P", **changes: Any) -> dict[str, Any]:
    record, events, logs = trial_parts(PLAN[number], letter, **changes)
    writer.started(PLAN[number].trial_id, 1)
    return writer.append(with_images(record, MANIFEST), events, logs)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[RunWriter]:
    with RunWriter.create(tmp_path, DOCUMENT, "run") as writer:
        yield writer


def test_a_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    store = make_run(tmp_path, outcomes={"baseline": "PPF", "candidate": "PFF"})
    run = read_run(store)
    assert (run.problems, run.notes, run.in_flight) == ((), (), ())
    assert len(run.records) == 6
    assert run.info is not None
    assert run.info["state"] == "complete"
    assert run.info["run_id"] == "11111111-2222-3333-4444-555555555555"
    trial_id = "reserve-timeout:00001:candidate"
    assert read_record(store, trial_id)["outcome"] == "FAIL"
    assert [event["kind"] for event in read_events(store, trial_id)][-1] == "trial_end"
    assert read_log(store, trial_id, "agent", "stdout") == LogTail(b"seed 12001\n", b"", 11)
    assert read_log(store, trial_id, "agent", "stderr") == LogTail(b"", b"", 0)


def test_an_existing_run_is_refused_with_the_choices_and_nothing_changes(tmp_path: Path) -> None:
    store = make_run(tmp_path)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match=r"--resume .* another experiment_id .* --force .* synthetic\.1") as caught:
        RunWriter.create(tmp_path, DOCUMENT, "second")
    assert caught.value.exit_code == 64
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before


def test_force_keeps_every_older_run_and_starts_from_nothing(tmp_path: Path) -> None:  # N75
    for number in range(3):
        with RunWriter.create(tmp_path, DOCUMENT, str(number), force=True) as writer:
            append(writer, number)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["synthetic", "synthetic.1", "synthetic.2"]
    infos = [read_run(tmp_path / name).info or {} for name in ("synthetic.1", "synthetic.2", "synthetic")]
    assert [info["run_id"] for info in infos] == list("012")
    with RunWriter.create(tmp_path, DOCUMENT, "3", force=True) as writer:
        assert read_run(writer.directory).records == ()


def test_force_does_not_take_a_run_from_under_its_writer(tmp_path: Path, writer: RunWriter) -> None:
    with pytest.raises(StoreError, match="another arci is writing this run"):
        RunWriter.create(tmp_path, DOCUMENT, "second", force=True)
    assert append(writer, 0)["outcome"] == "PASS"


def test_prior_runs_are_named_as_they_will_be_kept(tmp_path: Path) -> None:
    assert prior_runs(tmp_path, "synthetic") == []
    store = make_run(tmp_path)
    (store / "decision.json").write_bytes(canonical({"verdict": "BLOCK"}) + b"\n")
    (tmp_path / "synthetic.7").mkdir()  # another's directory, without a manifest of ours
    seal = json.loads((store / "manifest.json").read_bytes())["record_sha256"]
    expected = {"store": "synthetic.1", "manifest_sha256": seal, "verdict": "BLOCK"}
    assert prior_runs(tmp_path, "synthetic") == [expected]
    with RunWriter.create(tmp_path, DOCUMENT, "second", force=True):
        pass
    assert prior_runs(tmp_path, "synthetic") == [
        expected,
        {"store": "synthetic.2", "manifest_sha256": DOCUMENT["record_sha256"], "verdict": None},
    ]


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\0b", ".x", "a" * 201, 7])
def test_an_id_that_is_no_safe_name_makes_no_directory(tmp_path: Path, name: object) -> None:
    with pytest.raises(UsageError, match="experiment_id"):
        RunWriter.create(tmp_path / "runs", {**DOCUMENT, "experiment_id": name}, "run")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named_and_the_id_stays_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", _no_space)
        with pytest.raises(StoreError, match=r"manifest\.json: No space left on device"):
            RunWriter.create(tmp_path, DOCUMENT, "run")
    assert list(tmp_path.iterdir()) == []
    RunWriter.create(tmp_path, DOCUMENT, "run").close()


@pytest.mark.parametrize("failing_write", range(4))
def test_no_space_at_any_write_of_an_append_names_the_file_and_leaves_a_readable_store(  # N20
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: RunWriter, failing_write: int
) -> None:
    append(writer, 0)
    writes = iter(range(100))
    write = os.pwrite
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda *args: (_no_space if next(writes) == failing_write + 1 else write)(*args))
        with pytest.raises(
            StoreError, match=r"(stdout|events\.jsonl|trials\.jsonl|run\.json).*: No space left on device"
        ):
            append(writer, 1)
    run = read_run(writer.directory)
    assert run.problems == ()
    assert len(run.records) == (2 if failing_write == 3 else 1)
    append(writer, 2)
    writer.interrupt(run.in_flight)
    writer.finish("stopped")
    run = read_run(writer.directory)
    assert (run.problems, run.notes) == ((), ())
    assert len(run.records) == (3 if failing_write == 3 else 2)


def test_what_cannot_be_json_is_an_error_of_the_store_and_harms_no_other_record(writer: RunWriter) -> None:
    with pytest.raises(StoreError, match=r"trial reserve-timeout:\d+:\w+ cannot be written as JSON"):
        append(writer, 0, final_state={"x": float("nan")})
    append(writer, 1)
    assert len(read_run(writer.directory).records) == 1


def test_text_that_changes_when_it_is_read_is_sealed_as_it_reads(writer: RunWriter) -> None:
    halves = "\ud83d" + "\ude00"  # two lone surrogates that met; a reader sees one character
    append(writer, 0, final_state={"text": halves, "lone": "\udc80"})
    run = read_run(writer.directory)
    assert run.problems == ()
    assert run.records[0]["final_state"] == {"text": "\U0001f600", "lone": "\udc80"}


def test_started_and_interrupted_trials_are_known(writer: RunWriter) -> None:
    one, other, third = (trial.trial_id for trial in PLAN[:3])
    append(writer, 0)
    writer.started(other, 1)
    writer.started(third, 1)
    writer.started(third, 2)
    assert read_run(writer.directory).in_flight == (other, third)
    writer.interrupt([other])
    run = read_run(writer.directory)
    assert run.in_flight == (third,)
    assert sorted(run.interrupted) == sorted([other, third])
    assert one not in run.interrupted


def test_a_log_that_was_lost_is_marked_and_harms_nothing(writer: RunWriter) -> None:  # N30
    lost = {"agent": {"stdout": {"bytes": 9, "head_bytes": 0, "kept_sha256": None}}}
    record, events, _ = trial_parts(PLAN[0], "P", logs=lost)
    writer.append(with_images(record, MANIFEST), events, {"grader": {"stdout": LogTail(b"g", b"", 1)}})
    run = read_run(writer.directory)
    assert run.problems == ()
    assert run.records[0]["logs"]["agent"] == lost["agent"]
    with pytest.raises(StoreError, match="could not be kept"):
        read_log(writer.directory, PLAN[0].trial_id, "agent", "stdout")
    assert read_log(writer.directory, PLAN[0].trial_id, "grader", "stdout").kept == b"g"


def test_head_tail_and_exact_count_of_a_long_log_come_back(writer: RunWriter) -> None:
    record, events, _ = trial_parts(PLAN[0], "P")
    log = LogTail(b"h" * 65536, b"t" * 65536, 300_000_000)
    writer.append(with_images(record, MANIFEST), events, {"agent": {"stderr": log}})
    assert read_log(writer.directory, PLAN[0].trial_id, "agent", "stderr") == log
    assert log.left_out == 300_000_000 - 131_072


def test_log_names_are_safe_and_apart_for_any_ids() -> None:
    ids = [
        "c:00000:baseline",
        "C:00000:baseline",
        "c.00000:baseline",
        "../../x",
        "a" * 300,
        "",
        "\ud800\0",
        "-rf",
        ".x",
    ]
    names = [log_name(i, role, stream) for i in ids for role in ("agent", "grader") for stream in ("stdout", "stderr")]
    assert len({name.lower() for name in names}) == len(names)
    assert all(len(n) < 200 and not n.startswith(".") and not set("/\\:\0") & set(n) for n in names)


def test_a_state_that_is_none_is_refused(writer: RunWriter) -> None:
    with pytest.raises(ValueError, match="'complete' or 'stopped'"):
        writer.finish("running")


def _no_space(*_args: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
