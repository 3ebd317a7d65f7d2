"""The schedule: identities, seeds, order; the same manifest gives the same trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.manifest.descriptor import Overrides, read_descriptor
from arci.manifest.schedule import agent_seed, schedule
from arci.manifest.seal import seal
from arci.model.manifest import Manifest
from arci.model.trial import Trial

TEXT = """\
experiment_id: planned
toolset: w:make
oracle: j:check
baseline: a:run
candidate: b:run
base_seed: 12000
n_per_arm: 30
tasks: [{id: one}, {id: two, task: {n: 2}}]
conditions: [{id: clean}, {id: slow, fault: {name: latency}}]
"""


def document(text: str = TEXT, **overrides: Any) -> dict[str, Any]:
    descriptor = read_descriptor(text.encode(), Path("arci.yaml"), overrides=Overrides(**overrides))
    return seal(descriptor, images={}, runtime_sha256="0" * 64)


def planned(text: str = TEXT, **overrides: Any) -> tuple[Trial, ...]:
    return schedule(Manifest.from_document(document(text, **overrides)))


def test_every_pair_of_every_condition_is_planned_once_per_arm() -> None:
    expected = {f"{c}:{i:05d}:{arm}" for c in ("clean", "slow") for i in range(30) for arm in ("baseline", "candidate")}
    trials = planned()
    assert len(trials) == len(expected)
    assert {trial.trial_id for trial in trials} == expected


def test_a_trial_knows_its_pair_seed_and_task() -> None:
    trial = next(t for t in planned() if t.trial_id == "slow:00007:candidate")
    assert (trial.pair_id, trial.index, trial.seed) == ("slow:00007", 7, 12007)
    assert (trial.task_id, trial.task) == ("two", {"n": 2})


def test_arms_of_a_pair_are_adjacent_and_alternate_in_order() -> None:
    trials = planned()
    pairs = list(zip(trials[::2], trials[1::2], strict=True))
    assert all(first.pair_id == second.pair_id for first, second in pairs)
    assert [first.arm for first, _ in pairs] == ["baseline", "candidate"] * 30
    assert all(first.arm != second.arm for first, second in pairs)


def test_pairs_are_shuffled_across_conditions_and_the_same_each_time() -> None:
    order = [trial.pair_id for trial in planned()[::2]]
    assert order != sorted(order)
    assert len({pair.split(":")[0] for pair in order[:15]}) == 2
    assert order == [trial.pair_id for trial in planned()[::2]]
    assert order != [trial.pair_id for trial in planned(TEXT.replace("12000", "12001"))[::2]]


def test_neither_n_nor_another_condition_moves_a_seed() -> None:
    before = {t.trial_id: (t.seed, t.task_id) for t in planned()}
    wider = TEXT.replace("conditions: [", "conditions: [{id: extra}, ")
    after = {t.trial_id: (t.seed, t.task_id) for t in planned(wider, n_per_arm=50)}
    assert before.items() <= after.items()


@pytest.mark.parametrize(
    "change",
    [("base_seed: 12000", "base_seed: 11999"), ("n: 2", "n: 3"), ("id: slow", "id: slower"), ("a:run", "c:run")],
)
def test_an_identity_binds_the_whole_manifest(change: tuple[str, str]) -> None:
    before = {t.trial_sha256 for t in planned()}
    assert len(before) == len(planned())
    assert not before & {t.trial_sha256 for t in planned(TEXT.replace(*change))}


def test_a_resealed_rule_changes_every_identity() -> None:
    manifest = Manifest.from_document(document())
    other = Manifest.from_document({**document(), "delta": 0.2})
    assert not {t.trial_sha256 for t in schedule(manifest)} & {t.trial_sha256 for t in schedule(other)}


def test_agents_of_a_pair_get_the_same_seed_and_not_the_trials() -> None:
    trials = {t.trial_id: t for t in planned()}
    first, second = trials["slow:00003:baseline"], trials["slow:00003:candidate"]
    assert agent_seed(first) == agent_seed(second) == agent_seed(trials["clean:00003:baseline"])
    assert agent_seed(first) != agent_seed(trials["slow:00004:baseline"])
    assert agent_seed(replace(first, seed=12003, salt="x")) == 4086930961592967


def test_an_agents_seed_needs_what_no_agent_is_told() -> None:
    first = planned()[0]
    assert {agent_seed(t) for t in planned()} == {agent_seed(t) for t in planned(TEXT, backend="docker")}
    assert agent_seed(first) != agent_seed(replace(first, salt="guessed"))


@given(st.integers(min_value=0, max_value=2**53))
def test_an_agents_seed_fits_any_language_and_is_not_the_seed(seed: int) -> None:
    value = agent_seed(replace(planned_one(), seed=seed))
    assert 0 <= value < 2**52
    assert value != seed


def planned_one() -> Trial:
    return Trial("c", 0, "baseline", 0, "t", {}, "c:00000", "c:00000:baseline", "0" * 64, "salt")
