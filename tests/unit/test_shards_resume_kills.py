"""SIGKILL at twenty moments of a run of sixty trials, in local processes; and shards that are killed and merged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e import EXAMPLES, arci, info, records
from kills import disturbed, the_same

from arci.isolation.process.native import find_init
from arci.store.reader import read_run

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")
N = 30
KILLS = 20


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sealed") / "sealed.json"
    example = EXAMPLES / "retry_agent" / "a-vs-b.yaml"
    assert arci("seal", example, "--isolation", "process", "--n", N, "--out", file).exit_code == 0
    return file


@pytest.fixture(scope="module")
def undisturbed(sealed: Path) -> Path:
    ended = arci("run", sealed, "--out", sealed.parent / "whole", "--json")
    assert ended.exit_code == 2
    return ended.run


@pytest.mark.timeout(600)
def test_twenty_kills_change_nothing_that_is_decided(sealed: Path, undisturbed: Path, tmp_path: Path) -> None:
    run, seen = disturbed(sealed, tmp_path, undisturbed, kills=KILLS, seed=7)
    assert len(seen) == KILLS
    assert seen == sorted(seen), "a record was lost"
    assert seen[KILLS // 2] > N // 2, "the kills are spread over the run"
    stored = read_run(run)
    assert stored.problems == ()
    assert len(stored.records) == len(records(run)) == 2 * N
    found, expected = (json.loads((r / "decision.json").read_bytes()) for r in (run, undisturbed))
    assert the_same(found) == the_same(expected)
    interrupted = found["conditions"][0]["interrupted"]
    assert sum(interrupted.values()) == len(stored.interrupted) == len(info(run)["interrupted"]) > 0


@pytest.mark.timeout(300)
def test_shards_of_a_sealed_manifest_merge_to_the_undivided_run(
    sealed: Path, undisturbed: Path, tmp_path: Path
) -> None:
    stores = []
    for index in (1, 2, 3):
        ended = arci("run", sealed, "--shard", f"{index}/3", "--out", tmp_path / f"machine{index}", "--json")
        assert ended.exit_code == 0, ended.stderr
        assert "verdict" not in ended.json
        assert ended.run.name == f"retry-a-vs-b.shard-{index}-of-3"
        assert info(ended.run)["shard"] == {"index": index, "count": 3}
        assert arci("gate", ended.run).exit_code == 3
        stores.append(ended.run)
    merged = arci("merge", *stores, "--out", tmp_path / "merged", "--json")
    assert merged.exit_code == 0, merged.stderr
    assert (merged.json["verdict"], merged.json["records"], merged.json["interrupted"]) == ("INCONCLUSIVE", 2 * N, [])
    assert arci("gate", merged.run).exit_code == 2
    found, expected = (json.loads((r / "decision.json").read_bytes()) for r in (merged.run, undisturbed))
    assert the_same(found) == the_same(expected)
    refused = arci("merge", *stores[:2], "--out", tmp_path / "part")
    assert (refused.exit_code, "3/3 of the shards are missing" in refused.stderr) == (64, True)


def test_a_descriptor_is_not_run_in_shards(tmp_path: Path) -> None:
    refused = arci("run", EXAMPLES / "retry_agent" / "a-vs-b.yaml", "--shard", "1/2", "--out", tmp_path / "runs")
    assert refused.exit_code == 64
    assert "arci seal" in refused.stderr
    assert not (tmp_path / "runs").exists()
