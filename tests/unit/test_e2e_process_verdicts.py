"""Whole experiments as local processes: the verdicts, counts and bounds that they must come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e import arci, descriptor, project, recorded, records
from played import full_size

from arci.isolation.process.native import find_init

pytestmark = [
    pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine"),
    pytest.mark.timeout(600),
]

WORLD = """
    class World:
        def __init__(self):
            self.solved = False
            self.tools = {"solve": self.solve, "unused": self.solve}

        def solve(self) -> bool:
            self.solved = True
            return True

        def snapshot(self):
            return {"solved": self.solved}


    def open_world(task, seed):
        return World()
"""
AGENTS = """
    import os


    def able(task, tools, rng):
        return {"answer": tools.call("solve")}


    def hardly(task, tools, rng):
        return able(task, tools, rng) if task["kind"] == "easy" else {"answer": True}


    def broken(task, tools, rng):
        os._exit(7)
"""
GRADER = """if grep -q '"solved":true'; then echo '{"success": true}'; else echo '{"success": false}'; fi"""


@pytest.mark.parametrize(
    ("example", "exit_code", "counts", "bounds"),
    [
        ("a-vs-b", 1, (192, 132), (-0.4048, -0.1829)),
        ("a-vs-a", 0, (192, 192), (-0.0679, 0.0679)),
        ("a-vs-c", 0, (192, 192), (-0.0679, 0.0679)),
    ],
)
def test_the_retry_example_comes_to_its_verdict(
    example: str,
    exit_code: int,
    counts: tuple[int, int],
    bounds: tuple[float, float],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    ended, _ = full_size(tmp_path_factory, f"retry_agent/{example}.yaml")
    condition = ended.json["conditions"][0]
    assert (ended.exit_code, ended.json["verdict"]) == (exit_code, ("PASS", "BLOCK")[exit_code])
    assert tuple(condition[arm]["successes"] for arm in ("baseline", "candidate")) == counts
    assert (round(condition["delta_low"], 4), round(condition["delta_high"], 4)) == bounds
    assert condition["injections"] == {"baseline": 65, "candidate": 65}


def test_the_report_example_blocks_for_the_faulted_condition_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    ended, _ = recorded(tmp_path_factory, "file_report/arci.yaml", "process")
    clean, faulted = ended.json["conditions"]
    assert (ended.exit_code, clean["verdict"], faulted["verdict"]) == (1, "PASS", "BLOCK")
    assert (faulted["baseline"]["successes"], faulted["candidate"]["successes"]) == (50, 24)
    assert all(r["evidence"]["files"].keys() == {"report.json"} for r in records(ended.run).values())


def test_a_baseline_that_hardly_ever_passes_does_not_hide_a_better_candidate(tmp_path: Path) -> None:
    ended = arci("run", _experiment(tmp_path, "hardly", "able", n_per_arm=20), "--out", tmp_path, "--json")
    condition = ended.json["conditions"][0]
    assert (condition["baseline"]["successes"], condition["candidate"]["successes"]) == (3, 20)
    assert (ended.exit_code, ended.json["verdict"]) == (0, "PASS")


def test_two_broken_agents_do_not_pass(tmp_path: Path) -> None:
    ended = arci("run", _experiment(tmp_path, "broken", "broken", n_per_arm=42), "--out", tmp_path, "--json")
    condition = ended.json["conditions"][0]
    assert condition["delta_low"] > -0.1  # by the intervals alone it would be a PASS
    assert (ended.exit_code, ended.json["verdict"], condition["verdict"]) == (3, "ERROR", "ERROR")
    assert {record["outcome"] for record in records(ended.run).values()} == {"FAIL"}


def test_a_fault_on_a_tool_that_nobody_calls_is_an_error_and_says_so(tmp_path: Path) -> None:
    conditions = [{"id": "never", "fault": {"name": "tool_timeout", "tool": "unused", "occurrence": 0}}]
    path = _experiment(tmp_path, "able", "able", n_per_arm=2, conditions=conditions)
    ended = arci("run", path, "--out", tmp_path, "--json")
    assert (ended.exit_code, ended.json["verdict"]) == (3, "ERROR")
    assert ended.json["conditions"][0]["injections"] == {"baseline": 0, "candidate": 0}
    assert "0 of 2 trials" in arci("report", ended.run).stdout


def test_gate_comes_to_the_same_decision_byte_for_byte(tmp_path_factory: pytest.TempPathFactory) -> None:
    ended, run = recorded(tmp_path_factory, "retry_agent/a-vs-a.yaml", "process")
    written = (run / "decision.json").read_bytes()
    again = arci("gate", run, "--json")
    assert (run / "decision.json").read_bytes() == written
    assert (again.exit_code, again.json) == (ended.exit_code, json.loads(written))
    assert {**again.json, "run": str(run)} == ended.json


def _experiment(directory: Path, baseline: str, candidate: str, **changes: Any) -> Path:
    """An experiment judged by a shell script; 3 of its 20 tasks are easy."""
    root = project(directory / "project", {"project/world.py": WORLD, "agents/agent.py": AGENTS})
    document = {
        "experiment_id": "solving",
        "tasks": [{"id": f"t{i}", "task": {"kind": "easy" if i < 3 else "hard"}} for i in range(20)],
        "toolset": "world:open_world",
        "grader": {"command": {"argv": ["sh", "-c", GRADER]}},
        "baseline": {"label": baseline, "agent": f"agent:{baseline}", "context": "agents"},
        "candidate": {"label": candidate, "agent": f"agent:{candidate}", "context": "agents"},
        "images": {"project": {"build": {"context": "project"}}},
        **changes,
    }
    return descriptor(root, document)
