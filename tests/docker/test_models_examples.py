"""The examples that ask models and decisions, run as their readers would, and what `arci init --langchain` writes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from e2e import EXAMPLES, arci, records
from ports import free_port
from trust import build_trust

pytestmark = pytest.mark.timeout(900)

EXPECTED = re.compile(r"Expected: (\w+), (\d+)/(\d+) against (\d+)/(\d+)")


def stated(descriptor: Path) -> tuple[str, int, int, int]:
    """Verdict, successes of both arms, and trials, as the first line promises."""
    found = EXPECTED.search(descriptor.read_text(encoding="utf-8").splitlines()[0])
    assert found is not None
    return found[1], int(found[2]), int(found[4]), int(found[3])


def on_a_free_port(directory: Path) -> Path:
    """The example in `directory`, whose port may be taken on this machine, moved to one that is not."""
    port = str(free_port())
    for name in ("arci.yaml", "model_server.py"):
        file = directory / name
        text = file.read_text(encoding="utf-8")
        assert "8765" in text
        file.write_text(text.replace("8765", port), encoding="utf-8")
    return directory


def served(directory: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """`python run.py ARGS`: what the page tells a reader to do."""
    env = {**os.environ, **{name: value for name, value in build_trust().items() if value is not None}}
    command = [sys.executable, str(on_a_free_port(directory) / "run.py"), *map(str, words)]
    return subprocess.run(command, cwd=directory, env=env, capture_output=True, text=True, check=False)


def test_the_langchain_example_ends_as_it_says(tmp_path: Path) -> None:
    verdict, baseline, candidate, n = stated(EXAMPLES / "langchain_retry" / "arci.yaml")
    copy = shutil.copytree(EXAMPLES / "langchain_retry", tmp_path / "example")
    ended = served(copy, "--workers", 3, "--out", tmp_path / "runs", "--json")
    assert ended.stdout, ended.stderr
    decision = json.loads(ended.stdout)
    (condition,) = decision["conditions"]
    assert (decision["verdict"], ended.returncode) == (verdict, 1)
    assert [condition[arm]["successes"] for arm in ("baseline", "candidate")] == [baseline, candidate]
    found = records(Path(decision["run"])).values()
    assert len(found) == 2 * n
    assert {record["ending"] for record in found} == {"completed"}
    assert {record["usage"]["model_calls"] for record in found} == {4}


def test_the_triage_example_ends_as_it_says(tmp_path: Path) -> None:
    example = EXAMPLES / "support_triage" / "arci.yaml"
    verdict, baseline, candidate, n = stated(example)
    ended = arci("run", example, "--isolation", "docker", "--out", tmp_path / "runs", "--json", env=build_trust())
    sure, unsure = ended.json["conditions"]
    assert (ended.json["verdict"], ended.exit_code) == (verdict, 1), ended.stderr
    assert [sure[arm]["successes"] for arm in ("baseline", "candidate")] == [n, n]
    assert [unsure[arm]["successes"] for arm in ("baseline", "candidate")] == [baseline, candidate]
    for record in records(ended.run).values():
        asked = {("unsure", "baseline"): 1}.get((record["condition_id"], record["arm"]), 0)
        assert record["final_state"]["asked"] == asked
        assert record["ending"] == "completed"


def test_what_init_writes_for_langchain_runs_at_once(tmp_path: Path) -> None:
    made = arci("init", "--langchain", "shop", "--out", tmp_path / "shop")
    assert made.exit_code == 0, made.stderr
    ended = served(tmp_path / "shop", "--n", 1, "--out", tmp_path / "runs", "--json")
    assert ended.stdout, ended.stderr
    outcomes = {r["arm"]: r["outcome"] for r in records(Path(json.loads(ended.stdout)["run"])).values()}
    assert outcomes == {"baseline": "PASS", "candidate": "FAIL"}
