"""Commands and MCP servers in containers, from the descriptor to the records, server beside the recorder and apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e import arci, records
from notes import DATA, SERVER, notes_experiment
from pods import image_with

from arci.isolation.docker.engine import Engine

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300)]


def run(descriptor: Path, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Task -> the candidate's record."""
    ended = arci("run", descriptor, "--out", tmp_path / "runs", "--json")
    found = records(ended.run)
    return {record["task_id"]: record for record in found.values() if record["arm"] == "candidate"}


def said(record: dict[str, Any]) -> str:
    return f"{record['outcome']} {record['ending']}"


def test_a_server_beside_the_recorder_is_judged_by_the_files_that_it_leaves(tmp_path: Path) -> None:
    ways = {
        "add": "PASS completed",
        "by-http": "PASS completed",
        "kill-the-shim": "PASS completed",
        "never-connect": "FAIL completed",
        "leave-with-75": "ERROR harness",
    }
    descriptor = notes_experiment(tmp_path, "docker", tuple(ways), server={"snapshot": {"files": ["notes.json"]}})
    found = run(descriptor, tmp_path)
    assert {way: said(record) for way, record in found.items()} == ways, {r["detail"] for r in found.values()}
    assert found["add"]["initial_state"] == {"files": {}}
    assert found["add"]["final_state"] == {"files": {"notes.json": {"text": '["milk"]'}}}


def test_a_server_in_a_container_of_its_own_is_served_snapshot_and_explained(tmp_path: Path, engine: Engine) -> None:
    entry = json.dumps(
        ["python3", "/srv/notes/notes_server.py", "/environment/server", "/environment/server.task.json"]
    )
    lines = f'WORKDIR /srv/notes\nCOPY notes_server.py .\nUSER 10001\nENTRYPOINT {entry}\nCMD ["seed"]'
    source = (DATA / "notes_server.py").read_bytes()
    with image_with(engine, lines, {"notes_server.py": source}) as tag:
        server = {"image": tag, "argv": None, "crash": "fail", "snapshot": {"files": ["*.json"]}}
        ways = ("add", "kill-the-server", "ask-where")
        found = run(notes_experiment(tmp_path, "docker", ways, server=server), tmp_path)
    assert said(found["add"]) == "PASS completed", found["add"]["detail"]
    assert found["add"]["final_state"] == {"files": {"notes.json": {"text": '["milk"]'}}}
    assert "server:server" in found["add"]["images"]
    killed = found["kill-the-server"]
    assert (said(killed), killed["fingerprint"]) == ("FAIL environment", "server|server|exit status 7")
    printed = arci("show", tmp_path / "runs" / "notes", killed["trial_id"]).stdout
    assert "environment:server: stderr 13 bytes" in printed
    assert "server: notes 1.0" in printed


def test_one_server_apart_and_one_beside_are_both_in_the_state(tmp_path: Path, engine: Engine) -> None:
    source = (DATA / "notes_server.py").read_bytes()
    apart = ["python3", "{source}/notes_server.py", "{workdir}", "{task_file}", "{seed}"]
    with image_with(engine, "WORKDIR /srv\nCOPY notes_server.py .", {"notes_server.py": source}) as tag:
        servers = {
            "notes": {"image": tag, "argv": apart, "snapshot": {"resource": "notes://all"}},
            "spare": {"argv": SERVER, "snapshot": {"files": ["notes.json"]}},
        }
        descriptor = notes_experiment(tmp_path, "docker", ("add",), mcp_server=None, mcp_servers=servers)
        found = run(descriptor, tmp_path)["add"]
    assert said(found) == "PASS completed", found["detail"]
    assert found["final_state"] == {
        "notes": {"notes": ["milk"]},
        "spare": {"files": {"notes.json": {"text": "[]"}}},
    }
