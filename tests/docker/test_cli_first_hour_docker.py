"""The first hour in containers: what `arci init` writes is looked at and tried there, for both kinds of agents."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from e2e import Finished, arci, project

pytestmark = pytest.mark.timeout(600)

DATA = Path(__file__).parents[1] / "data"
JUDGE = """
    def judge(task, final_state):
        return final_state["notes"] == ["milk"]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def well(*args: object) -> Finished:
    ended = arci(*args)
    assert ended.exit_code == 0, ended.stderr
    return ended


def test_a_name_alone_is_an_experiment_that_runs_in_containers(place: Path) -> None:
    well("init", "first", "--docker")
    os.chdir("first")
    assert [tool["name"] for tool in well("tools", "--json").json["tools"]] == ["get_price", "list_charges", "charge"]
    tried = well("try", "--arm", "baseline", "--index", 5, "--json")
    assert tried.json["record"]["outcome"] == "PASS"
    assert [injection["fault"] for injection in tried.json["record"]["injections"]] == ["lost_response"]
    assert "trace    |" in tried.stderr
    assert not Path("runs").exists()


def test_a_command_and_a_server_of_one_s_own_run_in_containers(place: Path) -> None:
    for name in ("notes_agent.py", "notes_server.py"):
        shutil.copy(DATA / name, place / name)
    project(place, {"judge.py": JUDGE})
    words = {
        "--command": "python3 notes_agent.py {task_file} {mcp_config} {mcp_url}",
        "--mcp-server": "python3 notes_server.py {workdir} {task_file} {seed}",
        "--snapshot": "tool:dump",
        "--oracle": "judge:judge",
        "--task": '{"way": "add"}',
    }
    made = well("init", "notes", "--docker", *(word for option in words.items() for word in option))
    assert "the agent's image of baseline and candidate also holds world or oracle" in made.stderr
    shown = well("tools", "--json").json
    assert (shown["hidden"], [server["name"] for server in shown["servers"]]) == (["server.dump"], ["server"])
    record = well("try", "--json").json["record"]
    assert (record["outcome"], record["final_state"]["notes"]) == ("PASS", ["milk"])
