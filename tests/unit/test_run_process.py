"""Whole trials with real guests as local processes: world, agents and oracle are files below a temporary directory."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from runs import condition, fault, manifest_document

from arci.errors import SpecError
from arci.isolation.base import RunPlan
from arci.isolation.process.isolation import ProcessIsolation
from arci.isolation.process.native import find_init
from arci.isolation.process.pod import ProcessPod
from arci.manifest.schedule import schedule
from arci.model.manifest import Manifest
from arci.run.preflight import preflight
from arci.run.result import TrialResult
from arci.run.runner import run_trials
from arci.run.setting import make_setting
from arci.run.trial import run_trial
from arci.store.reader import read_run
from arci.store.writer import RunWriter

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine"),
]

WORLD = """
class World:
    def __init__(self, task, seed):
        self.reserved = 0
        self.tools = {"reserve": self.reserve}

    def reserve(self, n: int) -> int:
        if n < 0:
            raise ValueError("negative")
        self.reserved += n
        return self.reserved

    def snapshot(self):
        return {"reserved": self.reserved}


def make(task, seed):
    return World(task, seed)


def oracle(task, final_state, evidence):
    report = evidence["files"].get("report.txt", {"text": "none"})
    return final_state == {"reserved": 2} and report["text"] in ("none", "done")
"""
AGENTS = """
import os
import signal
import sys
import time

from arci.agent import ToolFault


def good(task, tools, rng):
    print("working")
    with open(os.path.join(os.environ["ARCI_WORKDIR"], "report.txt"), "w") as file:
        file.write("done")
    try:
        tools.call("reserve", n=2)
    except ToolFault:
        tools.call("reserve", n=2)
    return {"done": True}


def careless(task, tools, rng):
    try:
        tools.call("reserve", n=2)
    except ToolFault:
        pass
    return {"done": True}


def raises(task, tools, rng):
    raise RuntimeError("cannot read /tmp/%d" % os.getpid())


def leaves(task, tools, rng):
    os._exit(137)


def dies(task, tools, rng):
    os.kill(os.getpid(), signal.SIGKILL)


def quits(task, tools, rng):
    sys.exit(0)


def sleeps(task, tools, rng):
    time.sleep(600)


def greedy(task, tools, rng):
    for _ in range(100):
        try:
            tools.call("reserve", n=1)
        except ToolFault:
            pass
    return {}


def hoards(task, tools, rng):
    tools.call("reserve", n=2)
    for name in range(1100):
        open(os.path.join(os.environ["ARCI_WORKDIR"], "f%d" % name), "w").close()
    return {}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    (root / "world").mkdir()
    (root / "agents").mkdir()
    (root / "world" / "world.py").write_text(WORLD)
    (root / "agents" / "agents.py").write_text(AGENTS)
    return root


def sealed(project: Path, baseline: str, candidate: str = "agents:good", **changes: Any) -> dict[str, Any]:
    """A manifest with two Python agents of the project; a reference without a colon is a Python program instead."""
    arms = manifest_document()["arms"]
    for arm, reference in (("baseline", baseline), ("candidate", candidate)):
        arms[arm] |= {"ref": reference, "source": "agents"}
        if ":" not in reference:
            arms[arm] |= {"kind": "command", "ref": None, "argv": [sys.executable, "-c", reference]}
            arms[arm]["infra_exit_codes"] = [75]
    return manifest_document(
        **{
            "arms": arms,
            "environment": {"kind": "toolset", "ref": "world:make"},
            "grader": {"kind": "python", "ref": "world:oracle", "argv": []},
            "conditions": [condition("clean", "clean")],
            "project_source": "world",
            "volatile": {"root": str(project)},
            **changes,
        }
    )


async def trial_of(document: dict[str, Any], arm: str = "baseline") -> TrialResult:
    manifest = Manifest.from_document(document)
    planned = next(trial for trial in schedule(manifest) if trial.arm == arm)

    async def before_agent(trial_id: str, attempt: int) -> None:
        pass

    async with ProcessIsolation().open(RunPlan("run", manifest, 1)) as slots:
        return await run_trial(slots, planned, make_setting(manifest, {}), before_agent)


def outcome(result: TrialResult) -> str:
    return " ".join(str(result.record[key]) for key in ("outcome", "ending", "blame"))


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("agents:good", "PASS completed None"),
        ("agents:raises", "FAIL crash agent"),
        ("agents:leaves", "FAIL crash agent"),
        ("agents:quits", "FAIL crash agent"),
        ("agents:dies", "FAIL killed agent"),
        ("agents:greedy", "FAIL budget agent"),
        ("agents:hoards", "FAIL evidence agent"),
        ("print('Killed')", "FAIL completed agent"),
        ("raise SystemExit(75)", "ERROR harness machine"),
        ("raise SystemExit(139)", "FAIL crash agent"),
        ("import os; os.kill(os.getppid(), 9)", "FAIL killed agent"),
        ("import subprocess, sys; subprocess.Popen(['sleep', '600'])", "FAIL completed agent"),
    ],
)
async def test_real_guests_end_as_the_table_says(project: Path, agent: str, expected: str) -> None:
    result = await trial_of(sealed(project, agent, evidence=["*"]))
    assert outcome(result) == expected, (result.record["detail"], result.logs)


async def test_a_good_trial_leaves_a_whole_record(project: Path) -> None:
    result = await trial_of(sealed(project, "agents:good", evidence=["report.txt"]))
    record = result.record
    assert record["final_state"] == {"reserved": 2}
    assert set(record["evidence"]["files"]) == {"report.txt"}
    assert (record["agent"]["exit_code"], record["agent"]["claim"]) == (0, {"done": True})
    assert result.logs["agent"]["stdout"].kept == b"working\n"
    assert [event["kind"] for event in result.events] == [
        "trial_start",
        "tool_start",
        "tool_finish",
        "agent_result",
        "trial_end",
    ]


async def test_a_deadline_ends_the_agent(project: Path) -> None:
    budgets = {**manifest_document()["budgets"], "max_seconds": 0.3}
    result = await trial_of(sealed(project, "agents:sleeps", budgets=budgets))
    assert outcome(result) == "FAIL timeout agent"


async def test_crashes_have_one_fingerprint_however_often_they_are_made(project: Path) -> None:
    first, second = [await trial_of(sealed(project, "agents:raises")) for _ in range(2)]
    assert first.record["fingerprint"] == second.record["fingerprint"]
    assert first.record["fingerprint"] == "crash|RuntimeError: cannot read <path>|exit 1"


async def test_an_agent_without_arci_init_is_judged_by_its_own_end(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arci.isolation.process.isolation.find_init", lambda: None)
    monkeypatch.setattr(ProcessPod, "reports_status", False, raising=False)
    assert outcome(await trial_of(sealed(project, "agents:good"))) == "PASS completed None"
    assert outcome(await trial_of(sealed(project, "agents:leaves"))) == "FAIL crash agent"
    assert outcome(await trial_of(sealed(project, "agents:dies"))) == "FAIL killed agent"
    budgets = {**manifest_document()["budgets"], "max_seconds": 0.3}
    assert outcome(await trial_of(sealed(project, "agents:sleeps", budgets=budgets))) == "FAIL timeout agent"


async def test_preflight_names_what_cannot_be_imported(project: Path) -> None:
    await preflight(Manifest.from_document(sealed(project, "agents:raises")), ProcessIsolation(), "run", host_env={})
    with pytest.raises(SpecError) as caught:
        await preflight(
            Manifest.from_document(sealed(project, "agents:nobody", "nowhere:run")),
            ProcessIsolation(),
            "run",
            host_env={},
        )
    assert [problem.path for problem in caught.value.problems] == ["baseline.agent", "candidate.agent"]
    missing = {"kind": "python", "ref": "world:nobody", "argv": []}
    with pytest.raises(SpecError, match="nobody"):
        await preflight(
            Manifest.from_document(sealed(project, "agents:good", grader=missing)),
            ProcessIsolation(),
            "run",
            host_env={},
        )
    with pytest.raises(SpecError, match="'nobody'"):
        await preflight(
            Manifest.from_document(
                sealed(project, "agents:good", environment={"kind": "toolset", "ref": "world:nobody"})
            ),
            ProcessIsolation(),
            "run",
            host_env={},
        )


async def test_a_small_run_records_what_an_agent_without_a_retry_loses(project: Path, tmp_path: Path) -> None:
    document = sealed(
        project,
        "agents:good",
        "agents:careless",
        n_per_arm=3,
        conditions=[condition("reserve-timeout", "falsify", fault())],
    )
    manifest = Manifest.from_document(document)
    with RunWriter.create(tmp_path, document, "run") as writer:
        await run_trials(manifest, schedule(manifest), ProcessIsolation(), "run", writer, workers=2, host_env={})
    stored = read_run(writer.directory)
    assert stored.problems == ()
    by_arm = {arm: {r["outcome"] for r in stored.records if r["arm"] == arm} for arm in ("baseline", "candidate")}
    assert by_arm == {"baseline": {"PASS"}, "candidate": {"FAIL"}}
    assert {r["fingerprint"] for r in stored.records if r["arm"] == "candidate"} == {
        "oracle|reserve timeout tool_timeout"
    }
    assert all(len(record["injections"]) == 1 for record in stored.records)
    assert json.loads((writer.directory / "run.json").read_bytes())["state"] == "complete"
    assert not (await ProcessIsolation().remains("run")).everything
