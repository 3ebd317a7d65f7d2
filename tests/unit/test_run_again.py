"""A run in the place of an older one: what was there before is neither taken for its own nor changed by it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e import EXAMPLES, Finished, arci
from runs import make_run, manifest_document

from arci.gate.decide import decide
from arci.model.trial import Verdict
from arci.store.reader import read_run
from arci.store.writer import RunWriter


def test_a_run_that_failed_at_once_is_not_decided_by_what_lay_in_its_place(tmp_path: Path) -> None:
    """N75: the older run would PASS."""
    outcomes = {"baseline": "P" * 60, "candidate": "P" * 60}
    store = make_run(tmp_path, outcomes=outcomes)
    assert decide(read_run(store)).verdict is Verdict.PASS
    with RunWriter.create(tmp_path, manifest_document(n_per_arm=60), "second", force=True) as writer:
        writer.finish("stopped")
    assert writer.directory == store
    decision = decide(read_run(store))
    assert (decision.verdict, [c.baseline.n for c in decision.conditions]) == (Verdict.ERROR, [0])
    assert "was planned and is not recorded" in decision.reasons[0]
    assert decide(read_run(tmp_path / "synthetic.1")).verdict is Verdict.PASS


def run(directory: Path, *more: object) -> Finished:
    options = ("--isolation", "process", "--n", 1, "--out", directory / "runs", "--json")
    return arci("run", directory / "a-vs-b.yaml", *options, *more)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with its run of two trials."""
    directory = tmp_path_factory.mktemp("again") / "project"
    shutil.copytree(EXAMPLES / "retry_agent", directory, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    assert run(directory).stdout
    return directory


def nothing(directory: Path) -> None:
    pass


def an_agent(directory: Path) -> None:
    agent = directory / "agent_b" / "agent.py"
    agent.write_text(f"{agent.read_text()}\n# changed\n")


def the_seed(directory: Path) -> None:
    path = directory / "a-vs-b.yaml"
    path.write_text(path.read_text().replace("base_seed: 12000", "base_seed: 12001"))


@pytest.mark.parametrize("changes", [nothing, an_agent, the_seed])
def test_a_run_of_something_else_is_not_resumed_and_stays_as_it_is(
    changes: Callable[[Path], None], first: Path, tmp_path: Path
) -> None:
    """N76: another image (of processes: other sources) or another seed."""
    project = tmp_path / "project"
    shutil.copytree(first, project)
    before = (project / "runs" / "retry-a-vs-b" / "trials.jsonl").read_bytes()
    changes(project)
    ended = run(project, "--resume")
    if changes is nothing:
        assert ended.stdout, ended.stderr
    else:
        assert (ended.exit_code, ended.stdout) == (64, "")
        assert "something that is sealed has changed since" in ended.stderr
    assert (project / "runs" / "retry-a-vs-b" / "trials.jsonl").read_bytes() == before
