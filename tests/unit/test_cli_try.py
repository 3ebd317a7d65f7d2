"""`arci try` and `arci tools` with local processes: one trial told as it goes, and the tools that an agent will see."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from e2e import call, descriptor, project

from arci.isolation.process.native import find_init

pytestmark = pytest.mark.skipif(find_init() is None, reason="arci-init is not built for this machine")

DATA = Path(__file__).parents[1] / "data"
NOTES_JUDGE = """
    def judge(task, final_state):
        return final_state["notes"] == ["milk"]
"""
CODE = """
    import os, sys

    def works(task, tools, rng):
        print("agent works")
        print("agent warns", os.environ.get("KEY"), file=sys.stderr)
        tools.call("add", by=task["by"])
        return {"done": True}

    def idle(task, tools, rng):
        return {"done": True}

    class World:
        def __init__(self, task, seed):
            self.sum, self.tools = 0, {"add": self.add}

        def add(self, by: int, note: str = "") -> int:
            "Adds to the sum."
            self.sum += by
            return self.sum

        def snapshot(self):
            return {"sum": self.sum}

    def broken_world(task, seed):
        raise RuntimeError("no world today")

    def judge(task, final_state):
        print("oracle judges")
        return final_state["sum"] == task["by"]
"""
EXPERIMENT: dict[str, Any] = {
    "experiment_id": "tried",
    "task": {"by": 3},
    "toolset": "app:World",
    "oracle": "app:judge",
    "baseline": {"agent": "app:works", "env": {"KEY": "${ARCI_TEST_KEY}"}},
    "candidate": "app:idle",
    "secrets": ["ARCI_TEST_KEY"],
    "conditions": [{"id": "clean"}, {"id": "late", "fault": {"name": "lost_response", "tool": "add"}}],
    "n_per_arm": 3,
}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARCI_TEST_KEY", "very-secret-key")
    monkeypatch.chdir(project(tmp_path, {"app.py": CODE}))
    return descriptor(tmp_path, EXPERIMENT)


def test_a_trial_is_told_as_it_goes_and_its_record_is_the_result(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "try", path, "--arm", "baseline")
    assert ended.exit_code == 0
    assert ended.stdout.startswith("PASS  clean:00000:baseline  (completed)\n")
    lines = [" ".join(line.split()) for line in ended.stderr.splitlines()]
    assert "agent | agent works" in lines
    assert any(line.startswith("grader") and line.endswith("oracle judges") for line in lines)
    trace = [line for line in lines if line.startswith("trace |")]
    assert [kind for kind in ("tool_start", "tool_finish", "agent_result") if any(kind in line for line in trace)] == [
        "tool_start",
        "tool_finish",
        "agent_result",
    ]
    assert not Path("runs").exists()


def test_a_declared_secret_is_told_to_nobody(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended = call(capsys, "try", path, "--arm", "baseline", "--json")
    assert "agent warns" in ended.stderr
    assert "very-secret-key" not in ended.stdout + ended.stderr


def test_a_trial_that_fails_is_a_result_and_no_failure_of_the_command(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "try", path, "--condition", "late", "--index", 2, "--json")
    record = ended.json["record"]
    assert (ended.exit_code, record["outcome"], record["trial_id"]) == (0, "FAIL", "late:00002:candidate")
    assert [event["kind"] for event in ended.json["events"]][-1] == "trial_end"


def test_a_trial_that_breaks_ends_with_3(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    descriptor(path.parent, {**EXPERIMENT, "toolset": "app:broken_world"})
    ended = call(capsys, "try", path, "--json")
    assert (ended.exit_code, ended.json["record"]["outcome"]) == (3, "ERROR")
    assert "no world today" in ended.json["record"]["detail"] + ended.stderr


@pytest.mark.parametrize(
    ("args", "said"), [(("--condition", "none"), "clean, late"), (("--index", 3), "from 0 to 2 is allowed")]
)
def test_a_trial_that_is_not_planned_is_refused_with_those_that_are(
    args: tuple[object, ...], said: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = call(capsys, "try", path, *args)
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert said in ended.stderr


@pytest.mark.parametrize("command", ["try", "tools"])
def test_a_descriptor_with_mistakes_is_refused_before_anything_starts(
    command: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    descriptor(path.parent, {**EXPERIMENT, "delta": 7, "dela": 1})
    ended = call(capsys, command, path)
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert {"delta:", "dela:"} <= set(ended.stderr.split())


def test_the_tools_are_those_that_the_agent_sees(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, machine = call(capsys, "tools", path), call(capsys, "tools", path, "--json")
    assert (people.exit_code, machine.exit_code) == (0, 0)
    assert "add(by: integer, note?: string)" in people.stdout
    assert "Adds to the sum." in people.stdout
    (tool,) = machine.json["tools"]
    assert (tool["name"], tool["inputSchema"]["required"]) == ("add", ["by"])
    assert machine.json["hidden"] == []


def test_a_world_that_does_not_stand_is_the_descriptor_s_fault(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    descriptor(path.parent, {**EXPERIMENT, "toolset": "app:broken_world"})
    ended = call(capsys, "tools", path)
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert "no world today" in ended.stderr


def test_what_init_wrote_can_be_looked_at_tried_and_run(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(capsys, "init", "pay-order").exit_code == 0
    monkeypatch.chdir("pay-order")
    assert [tool["name"] for tool in call(capsys, "tools", "--json").json["tools"]] == [
        "get_price",
        "list_charges",
        "charge",
    ]
    assert call(capsys, "try", "--json").json["record"]["outcome"] == "PASS"
    ended = call(capsys, "run", "--json")
    assert (ended.exit_code, ended.json["verdict"]) == (1, "BLOCK")


def test_what_init_wrote_for_one_s_own_agents_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--baseline", "app:works", "--candidate", "app:works", "--toolset", "app:World", "--oracle", "app:judge")
    ended = call(capsys, "init", "own", *words, "--task", '{"by": 2}', "--fault", "latency:add", "--force")
    assert ended.exit_code == 0, ended.stderr
    decision = call(capsys, "run", "--json").json
    assert (decision["verdict"], decision["n_per_arm"]) == ("INCONCLUSIVE", 8)
    (condition,) = decision["conditions"]
    assert [condition[arm]["successes"] for arm in ("baseline", "candidate")] == [8, 8]
    assert condition["injections"] == {"baseline": 8, "candidate": 8}


def test_what_init_wrote_for_a_command_and_a_server_runs(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent and the server of `tests/data`: neither was written for `arci init`, both take their paths as words."""
    place = path.parent / "commands"
    place.mkdir()
    for name in ("notes_agent.py", "notes_server.py"):
        shutil.copy(DATA / name, place / name)
    monkeypatch.chdir(project(place, {"judge.py": NOTES_JUDGE}))
    words = {
        "--command": "python3 notes_agent.py {task_file} {mcp_config} {mcp_url}",
        "--mcp-server": "python3 notes_server.py {workdir} {task_file} {seed}",
        "--snapshot": "tool:dump",
        "--oracle": "judge:judge",
        "--task": '{"way": "add"}',
    }
    ended = call(capsys, "init", "notes", *(word for option in words.items() for word in option))
    assert ended.exit_code == 0, ended.stderr
    shown = call(capsys, "tools", "--json").json
    assert "add" in [tool["name"] for tool in shown["tools"]]
    assert "dump" not in [tool["name"] for tool in shown["tools"]]
    assert shown["hidden"] == ["server.dump"]
    tried = call(capsys, "try", "--json")
    assert (tried.exit_code, tried.json["record"]["outcome"]) == (0, "PASS"), tried.stderr
