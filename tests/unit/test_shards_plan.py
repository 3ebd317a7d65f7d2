"""Which trials a shard makes, and what a shard's store is and is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import condition, edit_info, make_run, manifest_document

from arci.errors import StoreError, UsageError
from arci.gate.decide import decide
from arci.manifest.schedule import schedule
from arci.model.manifest import Manifest
from arci.model.trial import Verdict
from arci.store.reader import read_run
from arci.store.resume import resume_run
from arci.store.shards import Shard, parse_shard, shard_of, shard_trials, store_name
from arci.store.writer import RunWriter

CONDITIONS = [condition("clean", "clean"), condition("odd", "falsify")]


@given(st.integers(1, 40), st.integers(1, 20))
def test_every_pair_is_in_exactly_one_shard_with_both_arms(n_per_arm: int, count: int) -> None:
    manifest = Manifest.from_document(manifest_document(n_per_arm=n_per_arm, conditions=CONDITIONS))
    if count > n_per_arm:  # two conditions, and two pairs that stay together
        with pytest.raises(UsageError, match=f"at most {n_per_arm} shards"):
            shard_trials(manifest, Shard(1, count))
        return
    parts = [shard_trials(manifest, Shard(index, count)) for index in range(1, count + 1)]
    everything = [trial for part in parts for trial in part]
    assert sorted(t.trial_id for t in everything) == sorted(t.trial_id for t in schedule(manifest))
    for part in parts:
        arms_of_pair: dict[str, set[str]] = {}
        for trial in part:
            arms_of_pair.setdefault(trial.pair_id, set()).add(trial.arm)
        assert set(map(frozenset, arms_of_pair.values())) == {frozenset({"baseline", "candidate"})}
        order = [t.trial_id for t in schedule(manifest)]
        assert [t.trial_id for t in part] == sorted((t.trial_id for t in part), key=order.index)


def test_each_shard_has_both_orders_of_the_arms_in_turn() -> None:
    manifest = Manifest.from_document(manifest_document(n_per_arm=16))
    for count in (2, 3, 4):
        for index in range(1, count + 1):
            first = [trial.arm for trial in shard_trials(manifest, Shard(index, count))[::2]]
            assert first == ["baseline", "candidate"] * (len(first) // 2)


def test_looks_are_not_taken_of_a_part() -> None:
    manifest = Manifest.from_document(manifest_document(looks=[4, 8]))
    with pytest.raises(UsageError, match=r"looks \(4, 8\)"):
        shard_trials(manifest, Shard(1, 2))


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", "", " 1/2", "01/2", "1/999999"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="i/k with 1 <= i <= k"):
        parse_shard(text)


def test_a_shard_is_told_by_its_store() -> None:
    assert parse_shard("2/4") == Shard(2, 4)
    assert str(Shard(2, 4)) == "2/4"
    assert store_name("a.b", Shard(2, 4)) == "a.b.shard-2-of-4"
    assert store_name("a.b") == "a.b"
    assert shard_of({"shard": Shard(2, 4).to_document()}) == Shard(2, 4)
    assert shard_of({}) is None


@pytest.mark.parametrize(
    "written",
    [
        {"index": 0, "count": 2},
        {"index": 3, "count": 2},
        {"index": True, "count": 2},
        {"index": 1},
        {"index": 1, "count": 2, "of": 3},
        [1, 2],
        "1/2",
        False,
    ],
)
def test_a_shard_that_is_none_is_damage(written: object, tmp_path: Path) -> None:
    store = make_run(tmp_path)
    edit_info(store, shard=written)
    told = json.loads((store / "run.json").read_bytes())["shard"]
    assert [str(p) for p in read_run(store).problems] == [f"run.json: shard: {told!r} is none"]


def _empty_shard(directory: Path, shard: Shard | None) -> Path:
    with RunWriter.create(directory, manifest_document(), "run", shard=shard) as writer:
        writer.finish("stopped")
        return writer.directory


def test_a_shard_alone_gives_no_verdict_and_says_what_to_do(tmp_path: Path) -> None:
    decision = decide(read_run(_empty_shard(tmp_path, Shard(1, 2))))
    assert decision.verdict is Verdict.ERROR
    assert decision.reasons == ("run.json: it is shard 1/2, and decides nothing alone: arci merge joins them all",)


@pytest.mark.parametrize(("is_a", "asked"), [(Shard(1, 2), Shard(2, 2)), (Shard(1, 2), None), (None, Shard(1, 2))])
def test_another_part_is_not_resumed(is_a: Shard | None, asked: Shard | None, tmp_path: Path) -> None:
    store = _empty_shard(tmp_path, is_a)
    with pytest.raises(UsageError, match="was asked for"):
        resume_run(store, manifest_document(), asked)
    resume_run(store, manifest_document(), is_a).writer.close()


def test_a_store_whose_manifest_file_was_swapped_is_not_resumed(tmp_path: Path) -> None:
    """Also where only that differs which the manifest's seal leaves out."""
    store = _empty_shard(tmp_path, None)
    other = _empty_shard(tmp_path / "other", None)
    text = (other / "manifest.json").read_bytes().replace(b"/somewhere", b"/elsewhere")
    (store / "manifest.json").write_bytes(text)
    with pytest.raises(StoreError, match=r"manifest\.json: not the file that run\.json names"):
        resume_run(store, manifest_document())
