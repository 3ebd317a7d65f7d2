"""Shards that are merged read and gate as an undivided run; what does not belong together is refused by name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from e2e import call
from runs import (
    NOW,
    condition,
    edit_info,
    edit_records,
    fault,
    make_run,
    manifest_document,
    read_jsonl,
    trial_parts,
    with_images,
    write_records,
)

from arci.errors import ArciError, StoreError, UsageError
from arci.gate.decide import decide
from arci.gate.decision import decision_bytes
from arci.model.canonical import digest
from arci.model.manifest import Manifest
from arci.store.merge import merge_runs
from arci.store.reader import read_events, read_log, read_run
from arci.store.resume import resume_run
from arci.store.shards import Shard, shard_trials
from arci.store.writer import RunWriter

LETTERS = {"baseline": "PPPPPFPP", "candidate": "PFFPFFPP"}
DOCUMENT = manifest_document(conditions=[condition("clean", "clean"), condition("lost", "falsify", fault())])


def make_shard(
    out_dir: Path, shard: Shard, document: dict[str, Any] = DOCUMENT, *, skip: int = 0, state: str = "complete"
) -> Path:
    """The store of a shard with believable trials, the last `skip` of them not made."""
    manifest = Manifest.from_document(document)
    trials = shard_trials(manifest, shard)
    with RunWriter.create(out_dir, document, f"run-{shard}", engine_facts={"name": "e"}, shard=shard) as writer:
        for trial in trials[: len(trials) - skip]:
            writer.started(trial.trial_id, 1)
            record, events, logs = trial_parts(trial, LETTERS[trial.arm][trial.index])
            writer.append(with_images(record, manifest), events, logs)
        writer.finish(state)
        return writer.directory


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    return [make_shard(tmp_path / "shards", Shard(index, 3)) for index in (1, 2, 3)]


def merged(shards: list[Path], tmp_path: Path) -> Path:
    return merge_runs(shards, tmp_path / "merged", run_id="merged")


def test_a_merged_run_gates_byte_for_byte_as_an_undivided_one(shards: list[Path], tmp_path: Path) -> None:
    whole = make_run(tmp_path / "whole", outcomes=LETTERS, document=DOCUMENT)
    store = merged(shards[::-1], tmp_path)
    assert store == tmp_path / "merged" / "synthetic"
    assert read_run(store).problems == ()
    assert (store / "trials.jsonl").read_bytes() == (whole / "trials.jsonl").read_bytes()
    assert decision_bytes(decide(read_run(store))) == decision_bytes(decide(read_run(whole)))
    assert (store / "manifest.json").read_bytes() == (whole / "manifest.json").read_bytes()
    for record in read_run(whole).records:
        trial_id = record["trial_id"]
        assert read_events(store, trial_id) == read_events(whole, trial_id)
        assert read_log(store, trial_id, "agent", "stdout") == read_log(whole, trial_id, "agent", "stdout")
    assert {p.name for p in store.iterdir()} == {p.name for p in whole.iterdir()}


def test_the_only_run_in_a_directory_is_found_by_it(
    shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joined = call(capsys, "merge", *shards, "--out", tmp_path / "out", "--json")
    assert (joined.exit_code, joined.run) == (0, tmp_path / "out" / "synthetic")
    named, found = (call(capsys, "gate", place, "--json") for place in (joined.run, tmp_path / "out"))
    assert (named.exit_code, named.json) == (found.exit_code, found.json)
    assert joined.json["verdict"] == found.json["verdict"]
    assert "not a run store" in call(capsys, "gate", tmp_path / "shards").stderr, "there are three"


def test_where_a_merged_run_comes_from_is_noted(shards: list[Path], tmp_path: Path) -> None:
    info = read_run(merged(shards, tmp_path)).info
    assert info is not None
    assert (info["run_id"], info["state"], info["engine"]) == ("merged", "complete", {"name": "e"})
    assert "shard" not in info
    for number, source in enumerate(info["shards"], 1):
        of_shard = read_run(shards[number - 1]).info
        assert of_shard is not None
        assert source["shard"] == {"index": number, "count": 3}
        assert (source["run_id"], source["sha256"]) == (f"run-{number}/3", of_shard["sha256"])


def test_interrupted_starts_and_their_events_are_kept(tmp_path: Path) -> None:
    first = make_shard(tmp_path, Shard(1, 2), skip=1, state="stopped")
    manifest = Manifest.from_document(DOCUMENT)
    last = shard_trials(manifest, Shard(1, 2))[-1]
    record, events, logs = trial_parts(last, LETTERS[last.arm][last.index])
    with resume_run(first, DOCUMENT, Shard(1, 2)).writer as writer:
        writer.started(last.trial_id, 1)
    with resume_run(first, DOCUMENT, Shard(1, 2)).writer as writer:
        writer.started(last.trial_id, 1)
        writer.append(with_images(record, manifest), events, logs)
        writer.finish("complete")
    store = merged([first, make_shard(tmp_path, Shard(2, 2))], tmp_path)
    run = read_run(store)
    assert run.problems == ()
    assert run.interrupted == (last.trial_id,)
    told = {c.condition_id: c.interrupted for c in decide(run).conditions}
    assert told[last.condition_id] == {"baseline": 0, "candidate": 0, last.arm: 1}
    started = [line for line in read_jsonl(store / "events.jsonl") if line["kind"] == "started"]
    assert [line["trial_id"] for line in started].count(last.trial_id) == 2


def test_a_taken_place_and_a_whole_run_are_refused(shards: list[Path], tmp_path: Path) -> None:
    store = merged(shards, tmp_path)
    with pytest.raises(UsageError, match="is there already"):
        merged(shards, tmp_path)
    with pytest.raises(UsageError, match=r"merged/synthetic: is no shard but a whole run"):
        merge_runs([store], tmp_path / "again", run_id="x")
    with pytest.raises(UsageError, match="was merged from shards"):
        resume_run(store, DOCUMENT)


def test_missing_and_doubled_shards_are_named(shards: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"2/3, 3/3 of the shards are missing; given: 1/3 \(.*shard-1-of-3\)"):
        merged(shards[:1], tmp_path)
    copy = shutil.copytree(shards[1], tmp_path / "copy")
    with pytest.raises(UsageError, match=r"shard-2-of-3, .*copy: shard 2/3 is given 2 times"):
        merged([*shards, copy], tmp_path)


def test_other_manifests_and_other_images_are_named(shards: list[Path], tmp_path: Path) -> None:
    other = manifest_document(
        conditions=DOCUMENT["conditions"], images={**DOCUMENT["images"], "candidate": {"sha256": digest("rebuilt")}}
    )
    with pytest.raises(UsageError, match=r"other/.*shard-3-of-3: is of another manifest .*: images differ"):
        merged([*shards[:2], make_shard(tmp_path / "other", Shard(3, 3), other)], tmp_path)
    with pytest.raises(UsageError, match="split the manifest differently"):
        merged([shards[0], make_shard(tmp_path / "halves", Shard(2, 2))], tmp_path)


def test_a_shard_that_is_not_complete_is_named_with_the_command(shards: list[Path], tmp_path: Path) -> None:
    stopped = make_shard(tmp_path / "stopped", Shard(2, 3), skip=1, state="stopped")
    with pytest.raises(UsageError, match=r"shard 2/3 is not complete \(stopped, 11 records\).*--shard 2/3 --resume"):
        merged([shards[0], stopped, shards[2]], tmp_path)
    assert not (tmp_path / "merged").exists()


def _drop_last(store: Path) -> None:
    write_records(store, read_jsonl(store / "trials.jsonl")[:-1])


def _other_image(store: Path) -> None:
    edit_records(store, lambda record: record["images"].update(agent=digest("another")))


def _other_trial(store: Path) -> None:
    records = read_jsonl(store / "trials.jsonl")
    records[0]["trial_id"] = "clean:00099:baseline"
    write_records(store, records)


def _torn(store: Path) -> None:
    path = store / "trials.jsonl"
    path.write_bytes(path.read_bytes()[:-5])


def _broken_seal(store: Path) -> None:
    records = read_jsonl(store / "trials.jsonl")
    records[-1]["detail"] = "changed"
    write_records(store, records, reseal=False)


def _no_log(store: Path) -> None:
    next(iter((store / "logs").iterdir())).unlink()


def _fewer_of_more(store: Path) -> None:
    edit_info(store, shard={"index": 2, "count": 3}, records=0)


@pytest.mark.parametrize(
    "damage", [_drop_last, _other_image, _other_trial, _torn, _broken_seal, _no_log, _fewer_of_more]
)
def test_a_broken_shard_is_named_and_nothing_is_left(
    damage: Callable[[Path], None], shards: list[Path], tmp_path: Path
) -> None:
    damage(shards[1])
    with pytest.raises(StoreError, match="shard-2-of-3"):
        merged(shards, tmp_path)
    assert not (tmp_path / "merged").exists()


def test_a_merge_that_finds_no_room_leaves_nothing(
    shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise StoreError(f"{path}: No space left on device")

    monkeypatch.setattr("arci.store.merge.replace_file", full)
    with pytest.raises(ArciError, match="No space left"):
        merged(shards, tmp_path)
    assert list((tmp_path / "merged").iterdir()) == []
    monkeypatch.undo()
    assert read_run(merged(shards, tmp_path)).problems == ()


def test_the_time_of_a_merged_run_spans_its_shards(shards: list[Path], tmp_path: Path) -> None:
    edit_info(shards[2], started_at="2020-01-01T00:00:00.000+00:00")
    info = read_run(merged(shards, tmp_path)).info
    assert info is not None
    assert info["started_at"] == "2020-01-01T00:00:00.000+00:00"
    assert info["ended_at"] > NOW
