"""Every field of what a real run keeps is covered, also those that synthetic ones have not: each is changed in turn."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from e2e import arci
from secret import NAME, SECRET, telltale
from test_store_every_leaf import FILES, broken_by, changes

from arci.gate.decide import decide
from arci.isolation.process.native import find_init
from arci.model.trial import Verdict
from arci.store.reader import read_run

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine"),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose agents call, fail to call, claim, print, leave evidence and note steps of models."""
    directory = tmp_path_factory.mktemp("telltale")
    path = telltale(directory, "process")
    return arci("run", path, "--out", directory / "runs", "--json", env={NAME: SECRET}).run


@pytest.mark.parametrize("name", FILES)
def test_no_leaf_of_a_recorded_run_can_be_changed_unnoticed(name: str, recorded: Path, tmp_path: Path) -> None:
    store = tmp_path / "run"
    shutil.copytree(recorded, store)
    assert decide(read_run(store)).verdict is Verdict.INCONCLUSIVE
    lines = (store / name).read_bytes().splitlines(keepends=True)
    tried = [
        (number, place, broken_by(store / name, number, lines, changed))
        for number, line in enumerate(lines)
        for place, changed in changes(json.loads(line))
    ]
    assert [(number, place) for number, place, is_broken in tried if not is_broken] == []
    assert len(tried) > 5 * len(lines)


def test_a_recorded_run_has_what_synthetic_ones_have_not(recorded: Path) -> None:
    record = json.loads((recorded / "trials.jsonl").read_bytes().splitlines()[0])
    assert {"environment", "evidence", "models", "initial_state"} <= set(record)
    assert record["evidence"]["files"]
    assert record["usage"]["model_steps"] == 1
