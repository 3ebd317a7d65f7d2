"""Every field of every file of a store is covered: each leaf is changed, dropped and joined by another in turn."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runs import edit_info, make_run

from arci.gate.decide import decide
from arci.model.canonical import canonical
from arci.model.trial import Verdict
from arci.store.reader import read_run
from arci.store.shards import Shard

FILES = ("manifest.json", "run.json", "trials.jsonl", "events.jsonl")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = make_run(tmp_path, outcomes={"baseline": "P", "candidate": "F"})
    edit_info(store, warnings=["one"], engine={"name": "e", "cpus": 2}, interrupted=["reserve-timeout:00000:baseline"])
    return store


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    """(place, changed copy): each leaf of a JSON value changed, each key dropped, and one added to each object."""
    if isinstance(value, dict):
        yield "+", {**value, "added": None}
        for key, item in value.items():
            yield f"-{key}", {k: v for k, v in value.items() if k != key}
            yield from ((f"{key}.{place}", {**value, key: changed}) for place, changed in changes(item))
    elif isinstance(value, list):
        yield "+", [*value, None]
        for at, item in enumerate(value):
            yield f"-{at}", value[:at] + value[at + 1 :]
            yield from ((f"{at}.{place}", [*value[:at], changed, *value[at + 1 :]]) for place, changed in changes(item))
    else:
        yield "", _other(value)


def _other(leaf: Any) -> Any:
    if isinstance(leaf, bool) or leaf is None:
        return not leaf
    if isinstance(leaf, str):
        return leaf + "x" if not leaf.endswith("x") else leaf[:-1]
    return leaf + 1


def broken_by(path: Path, number: int, lines: list[bytes], changed: Any) -> bool:
    """Whether the store is ERROR with that line of the file in the place of its own."""
    path.write_bytes(b"".join([*lines[:number], canonical(changed) + b"\n", *lines[number + 1 :]]))
    return decide(read_run(path.parent)).verdict is Verdict.ERROR


@pytest.mark.parametrize("name", FILES)
def test_no_leaf_can_be_changed_unnoticed(name: str, store: Path) -> None:
    assert decide(read_run(store)).verdict is Verdict.INCONCLUSIVE
    path = store / name
    lines = path.read_bytes().splitlines(keepends=True)
    unnoticed = []
    for number, line in enumerate(lines):
        value = json.loads(line)
        unnoticed += [
            (number, place) for place, changed in changes(value) if not broken_by(path, number, lines, changed)
        ]
    assert unnoticed == []
    path.write_bytes(b"".join(lines))
    assert decide(read_run(store)).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("name", ["trials.jsonl", "events.jsonl"])
def test_no_line_can_be_dropped_doubled_or_moved_unnoticed(name: str, store: Path) -> None:
    path = store / name
    lines = path.read_bytes().splitlines(keepends=True)
    for at in range(len(lines)):
        for changed in (
            lines[:at] + lines[at + 1 :],
            [*lines[: at + 1], lines[at], *lines[at + 1 :]],
            [*lines[:at], *lines[at + 1 :], lines[at]] if at < len(lines) - 1 else lines[::-1],
        ):
            path.write_bytes(b"".join(changed))
            is_harmless = name == "events.jsonl" and b'"started"' in lines[at] and len(changed) == len(lines)
            assert is_harmless or decide(read_run(store)).verdict is Verdict.ERROR


def test_the_walk_reaches_every_leaf() -> None:
    value = {"a": [1, {"b": None}], "c": "x"}
    found = dict(changes(copy.deepcopy(value)))
    assert found["a.0."] == {"a": [2, {"b": None}], "c": "x"}
    assert found["a.1.b."] == {"a": [1, {"b": True}], "c": "x"}
    assert found["c."] == {"a": [1, {"b": None}], "c": ""}
    assert found["-c"] == {"a": [1, {"b": None}]}
    assert len(found) == 3 + 5 + 3  # added to each container, each item and key dropped, each leaf changed


def test_a_shard_that_is_made_a_whole_run_is_noticed(store: Path) -> None:
    edit_info(store, shard=Shard(1, 2).to_document())
    assert decide(read_run(store)).verdict is Verdict.ERROR
    path = store / "run.json"
    value = json.loads(path.read_bytes())
    del value["shard"]
    path.write_bytes(canonical(value) + b"\n")
    assert "its content is not what its sha256 sealed" in str(read_run(store).problems[0])
