"""`arci rerun`, `minimize`, `bundle` and `replay` with local processes: one failure again, smaller, and elsewhere."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest
from e2e import Finished, call, descriptor, info, project, records

from arci.diagnose.replaying import Reproduction, Verdict, replay_trial
from arci.diagnose.rerun import read_recorded
from arci.isolation.process.isolation import ProcessIsolation
from arci.isolation.process.native import find_init
from arci.store.reader import read_events

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

TRIAL = "three:00000:candidate"
CODE = """
    import os, pathlib, time

    from arci.agent import ToolFault


    def careful(task, tools, rng):
        for _ in range(4):
            try:
                tools.call("add", by=task["by"])
                return {"done": True}
            except ToolFault:
                pass
        return {"done": False}


    def careless(task, tools, rng):
        for sku in ("a", "b"):
            try:
                tools.call("price", sku=sku)
            except ToolFault:
                pass
        try:
            tools.call("add", by=task["by"])
        except ToolFault:
            pass
        return {"done": True}


    class World:
        def __init__(self, task, seed):
            self.sum, self.tools = 0, {"add": self.add, "price": self.price}
            pathlib.Path(os.environ["TMPDIR"], "world-was-here").touch()

        def add(self, by: int) -> int:
            self.sum += by
            return self.sum

        def price(self, sku: str) -> float:
            return 1.5

        def snapshot(self):
            return {"sum": self.sum}


    def judge(task, final_state):
        return final_state["sum"] == task["by"]
"""
EXPERIMENT: dict[str, Any] = {
    "experiment_id": "bundled",
    "task": {"by": 3, "colour": "red"},
    "toolset": "app:World",
    "oracle": "app:judge",
    "baseline": "app:careful",
    "candidate": "app:careless",
    "conditions": [
        {
            "id": "three",
            "faults": [
                {"name": "latency", "tool": "price", "occurrence": 0, "params": {"ms": 1}},
                {"name": "tool_timeout", "tool": "add", "occurrence": 0},
                {"name": "empty_result", "tool": "price", "occurrence": 1},
            ],
        }
    ],
    "n_per_arm": 2,
}


@pytest.fixture(autouse=True)
def key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of their own: the key that bundles are signed with."""
    home = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    return home


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = descriptor(project(tmp_path, {"app.py": CODE}), EXPERIMENT)
    ended = call(capsys, "run", path, "--out", tmp_path / "runs", "--json")
    assert ended.stdout, ended.stderr
    return ended.run


@pytest.fixture
def bundle(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    out = tmp_path / "failure.arci"
    well(call(capsys, "bundle", run, TRIAL, "--out", out))
    return out


def well(ended: Finished) -> Finished:
    assert ended.exit_code == 0, ended
    return ended


def test_a_rerun_is_the_same_trial_live_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = info(run)
    told = well(call(capsys, "rerun", run, TRIAL, "--json")).json
    assert (told["same_outcome"], told["same_failure"], told["same_trace"]) == (True, True, True)
    assert told["record"]["outcome"] == "FAIL"
    shown = well(call(capsys, "rerun", run, TRIAL)).stdout
    assert shown.startswith(f"FAIL  {TRIAL}  (completed)\n")
    assert info(run) == before


def test_a_rerun_of_other_sources_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "app.py").write_text("changed = True\n")
    refused = call(capsys, "rerun", run, TRIAL)
    assert refused.exit_code == 64
    assert "is not what was sealed" in refused.stderr


def test_a_failure_is_replayed_from_its_bundle_with_no_world(
    bundle: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(run)
    (tmp_path / "app.py").unlink()
    told = well(call(capsys, "replay", bundle, "--json")).json
    assert (told["verdict"], told["same_trace"]) == ("REPRODUCED", True)
    assert told["recorded"] == told["replayed"]
    shown = well(call(capsys, "replay", bundle, "--isolation", "process")).stdout
    assert shown.startswith("REPRODUCED: FAIL completed (oracle|add timeout tool_timeout), as recorded\n")


def test_a_trial_that_passed_is_replayed_too(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "passed.arci"
    well(call(capsys, "bundle", run, "three:00001:baseline", "--out", out))
    assert well(call(capsys, "replay", out, "--json")).json["replayed"]["outcome"] == "PASS"


def test_a_bundle_of_somebody_else_is_not_run_without_trust(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "stranger"))
    refused = call(capsys, "replay", bundle)
    assert refused.exit_code == 64
    assert "its code as yours, with your files in reach; --trust is required" in refused.stderr
    assert well(call(capsys, "replay", bundle, "--trust", "--json")).json["verdict"] == "REPRODUCED"


def test_a_bundle_of_processes_is_not_replayed_in_containers(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = call(capsys, "replay", bundle, "--isolation", "docker")
    assert refused.exit_code == 64
    assert "holds the source tree and no image" in refused.stderr


def test_what_is_no_bundle_is_invalid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.arci").write_bytes(b"PK\x03\x04")
    ended = call(capsys, "replay", tmp_path / "other.arci", "--json")
    assert (ended.exit_code, ended.json["verdict"], ended.json["exit_code"]) == (3, "INVALID", 3)


def test_a_list_tells_what_is_inside(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = well(call(capsys, "bundle", "--list", bundle)).stdout
    assert shown.startswith(f"{TRIAL}  FAIL  (completed)\n")
    assert "  agent        app:careless\n  grader       app:judge\nsource tree: " in shown
    assert well(call(capsys, "bundle", "--list", bundle, "--json")).json["made_by"]["is_own"] is True


def test_the_commands_that_a_minimised_failure_ends_with_work(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "smaller one.arci.json"
    shown = well(call(capsys, "minimize", run, TRIAL, "--out", out)).stdout
    assert "  the one single removal lost the failure, in its one trial\n" in shown
    bundling, trying = (shlex.split(line.partition("arci ")[2]) for line in shown.splitlines()[-2:])
    assert bundling[-1] == str(tmp_path / "smaller one.arci")
    well(call(capsys, *bundling))
    code = (tmp_path / "app.py").read_text()
    (tmp_path / "app.py").write_text(code.replace("def careless", "def once_careless") + "\n\ncareless = careful\n")
    refused = call(capsys, *bundling)
    assert (refused.exit_code, "is not what was sealed" in refused.stderr) == (64, True)
    record = well(call(capsys, *trying, "--json")).json["record"]
    assert (record["trial_id"], record["outcome"]) == (TRIAL, "PASS")
    assert record["seed"] == records(run)[TRIAL]["seed"]


def test_three_faults_shrink_to_one_and_the_reproducer_runs_and_is_bundled(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "smaller.arci.json"
    ended = well(call(capsys, "minimize", run, TRIAL, "--out", out, "--json"))
    told = ended.json
    assert (told["result"], [f["name"] for f in told["faults"]]) == ("1-minimal", ["tool_timeout"])
    assert told["trials"] <= 5
    assert "arci: trial 1: 3 faults: the failure" in ended.stderr
    made = call(capsys, "run", out, "--out", tmp_path / "runs" / "again", "--json")
    assert {r["arm"]: r["outcome"] for r in records(made.run).values()} == {"baseline": "PASS", "candidate": "FAIL"}
    packed = tmp_path / "smaller.arci"
    well(call(capsys, "bundle", out, "--out", packed))
    assert well(call(capsys, "replay", packed, "--json")).json["verdict"] == "REPRODUCED"


@pytest.mark.parametrize("command", ["minimize", "bundle"])
def test_a_file_that_would_change_the_sealed_sources_is_refused(
    command: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = call(capsys, command, run, TRIAL, "--out", tmp_path / "smaller.json")
    assert refused.exit_code == 64
    assert "would lie among the sources that were sealed" in refused.stderr
    assert not (tmp_path / "smaller.json").exists()


def test_fields_of_the_task_are_left_out_where_that_is_asked_for(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--fields", "--repeat", 2, "--at-least", 2)
    shown = well(call(capsys, "minimize", run, TRIAL, "--out", tmp_path / "f.arci.json", *words)).stdout
    assert shown.startswith("1-minimal: 1 of 3 faults, ")
    assert '  task         {"by":3}\n' in shown


def test_a_reproducer_that_does_not_fail_any_more_is_not_bundled(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "smaller.arci.json"
    well(call(capsys, "minimize", run, TRIAL, "--out", out))
    document = json.loads(out.read_bytes())
    document["volatile"]["reproduces"]["fingerprint"] = "oracle|something else"
    out.write_text(json.dumps(document))
    refused = call(capsys, "bundle", out, "--out", tmp_path / "no.arci")
    assert refused.exit_code == 64
    assert "oracle|something else was to be bundled" in refused.stderr
    assert not (tmp_path / "no.arci").exists()


def replayed_with(run: Path, source: Path, code: str) -> Reproduction:
    """The failure replayed with other sources."""
    project(source, {"app.py": code})
    found = read_recorded(run, TRIAL)
    events = read_events(run, TRIAL)

    async def replay() -> Reproduction:
        place = {"root": str(source)}
        return await replay_trial(found.manifest, found.trial, found.record, events, ProcessIsolation(), volatile=place)

    return anyio.run(replay)


@pytest.mark.parametrize(
    ("old", "new", "verdict", "words"),
    [
        ('by=task["by"])\n        except', "by=4)\n        except", "INVALID", "and by was 3 there and is 4 now"),
        ('("a", "b")', '("b", "a")', "REPRODUCED", "as recorded"),
        ('("a", "b")', '("a", "b", "b")', "INVALID", "it was recorded 1 time, and is made once more"),
        ('("a", "b")', '("a",)', "INVALID", '1 recorded call was not made: price{"sku":"b"}'),
        ('tools.call("price"', 'tools.call("cost"', "INVALID", "the nearest recorded call is"),
        ('return {"done": True}\n\n\n    class', "os._exit(7)\n\n\n    class", "NOT_REPRODUCED", "now: FAIL crash"),
        ("import os, pathlib, time", "import os, pathlib, nosuch", "INVALID", "the agent did not start"),
        ("return final_state", "return not final_state", "NOT_REPRODUCED", "now: PASS completed"),
    ],
)
def test_a_change_of_the_agent_shows(run: Path, tmp_path: Path, old: str, new: str, verdict: str, words: str) -> None:
    changed = CODE.replace(old, new)
    if old.startswith(("by=task", "return {")):  # of the candidate alone
        head, tail = CODE.split("def careless")
        changed = f"{head}def careless{tail.replace(old, new)}"
    assert changed != CODE
    found = replayed_with(run, tmp_path / "changed", changed)
    assert (found.verdict, found.verdict is Verdict(verdict)) == (Verdict(verdict), True), found.reason
    assert words in found.reason
