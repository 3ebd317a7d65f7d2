"""Commands and MCP servers as processes, from the descriptor to the records: how each way of working is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e import arci, records
from notes import SERVER, notes_experiment

WAYS = {
    "add": "PASS completed",
    "by-command-line": "PASS completed",
    "by-http": "PASS completed",
    "kill-the-shim": "PASS completed",
    "reconnect": "PASS completed",
    "look-for-what-is-hidden": "PASS completed",
    "never-connect": "FAIL completed",
    "leave-with-3": "FAIL crash",
}


def run(descriptor: Path, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Task -> the candidate's record."""
    ended = arci("run", descriptor, "--out", tmp_path / "runs", "--json")
    found = records(ended.run)
    return {record["task_id"]: record for record in found.values() if record["arm"] == "candidate"}


def said(record: dict[str, Any]) -> str:
    return f"{record['outcome']} {record['ending']}"


@pytest.mark.parametrize(
    "snapshot", [{"tool": "dump"}, {"resource": "notes://all"}, {"files": ["*.json"]}, "notes_state:read"]
)
def test_each_way_of_working_is_judged_by_the_state(tmp_path: Path, snapshot: Any) -> None:
    ways = dict(WAYS)
    if snapshot != {"tool": "dump"}:  # what needs no other snapshot is not paid for again
        ways = {way: ways[way] for way in ("add", "by-http", "never-connect")}
    descriptor = notes_experiment(tmp_path, "process", tuple(ways), server={"snapshot": snapshot})
    (tmp_path / "notes_state.py").write_text(
        "import json, pathlib\n"
        "def read(task, workdir):\n"
        "    path = pathlib.Path(workdir, 'notes.json')\n"
        "    return {'notes': json.loads(path.read_text()) if path.exists() else []}\n"
    )
    found = run(descriptor, tmp_path)
    assert {way: said(record) for way, record in found.items()} == ways, {r["detail"] for r in found.values()}
    (told,) = found["add"]["environment"]["servers"]
    assert (told["name"], told["info"]["name"]) == ("server", "notes")
    before: dict[str, Any] = {"files": {}} if snapshot == {"files": ["*.json"]} else {"notes": []}
    assert found["add"]["initial_state"] == before


def test_several_servers_have_a_state_each_by_name(tmp_path: Path) -> None:
    one = {"argv": SERVER, "snapshot": {"tool": "dump"}}
    servers = {"notes": {**one, "env": {"MODE": "first"}}, "spare": {"argv": SERVER}}
    descriptor = notes_experiment(tmp_path, "process", ("add",), mcp_server=None, mcp_servers=servers)
    found = run(descriptor, tmp_path)["add"]
    assert said(found) == "PASS completed", found["detail"]
    assert found["final_state"] == {"notes": {"notes": ["milk"]}, "spare": {}}
    assert [server["name"] for server in found["environment"]["servers"]] == ["notes", "spare"]


@pytest.mark.parametrize(("crash", "expected"), [("error", "ERROR environment"), ("fail", "FAIL environment")])
def test_a_server_that_a_call_kills_counts_as_the_descriptor_says(tmp_path: Path, crash: str, expected: str) -> None:
    descriptor = notes_experiment(tmp_path, "process", ("kill-the-server",), server={"crash": crash})
    found = run(descriptor, tmp_path)["kill-the-server"]
    assert said(found) == expected, found["detail"]
    if crash == "fail":
        assert (found["blame"], found["fingerprint"]) == ("agent", "server|server|exit status 7")


def test_an_exit_code_of_the_machine_is_an_error_and_of_another_list_is_not(tmp_path: Path) -> None:
    descriptor = notes_experiment(tmp_path, "process", ("leave-with-75",))
    assert said(run(descriptor, tmp_path)["leave-with-75"]) == "ERROR harness"
    document = json.loads(descriptor.read_text())
    document["experiment_id"] = "other-codes"
    document["candidate"]["command"]["infra_exit_codes"] = [3]
    descriptor.write_text(json.dumps(document))
    assert said(run(descriptor, tmp_path)["leave-with-75"]) == "FAIL crash"


def test_agent_and_server_are_given_what_the_reference_says(tmp_path: Path) -> None:
    looks = "print(evidence['files']['where.json']['text'])"
    oracle = f"def judge(task, final_state, evidence):\n    {looks}\n    return True\n"
    descriptor = notes_experiment(tmp_path, "process", ("ask-where",), server={"env": {"MODE": "fast"}})
    (tmp_path / "judge.py").write_text(oracle)
    found = run(descriptor, tmp_path)["ask-where"]
    assert said(found) == "PASS completed", found["detail"]
    printed = arci("logs", tmp_path / "runs" / "notes", found["trial_id"], "--role", "grader")
    given = json.loads(printed.stderr)
    server, agent = given["server"], given["agent"]
    assert server["task"] == json.loads(agent["ARCI_TASK"]) == {"way": "ask-where"}
    assert server["seed"] == server["ARCI_SEED"] == str(found["seed"]) != agent["ARCI_SEED"]
    assert server["HOME"] == server["workdir"] == server["cwd"]
    assert (server["MODE"], server["ARCI_MCP_URL"]) == ("fast", None)
    assert given["cwd"] == agent["HOME"] == agent["ARCI_WORKDIR"]
    assert not Path(server["workdir"]).is_relative_to(agent["ARCI_WORKDIR"])


def test_a_server_that_cannot_start_refuses_the_run_with_its_reason(tmp_path: Path) -> None:
    missing = notes_experiment(tmp_path, "process", ("add",), server={"argv": ["no-such-server"]})
    ended = arci("run", missing, "--out", tmp_path / "runs")
    assert ended.exit_code == 64
    assert "mcp_server.argv" in ended.stderr
    assert "no-such-server" in ended.stderr
    broken = [*SERVER[:1], "-c", "import sys; sys.exit('no database')"]
    ended = arci("run", notes_experiment(tmp_path, "process", ("add",), server={"argv": broken}), "--out", tmp_path)
    assert ended.exit_code == 64
    assert "no database" in ended.stderr
