"""Servers that die in mid-call and servers that do not want to end, beside the recorder and in their own containers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e import Finished, arci, descriptor, info, project, records
from e2e import call as call_arci
from pods import image_with

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN
from arci.store.reader import read_events

pytestmark = pytest.mark.timeout(300)

SERVER = """
import json, os, signal, sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    line = sys.stdin.readline()
    if not line:
        while True:
            signal.pause()
    frame = json.loads(line)
    id, method = frame.get("id"), frame["method"]
    if method == "tools/call" and frame["params"]["name"] == "die":
        os.write(2, b"about to die\\n")
        os.kill(os.getpid(), signal.SIGKILL)
    reply = {"result": {"content": []}}
    if method == "initialize":
        about = {"serverInfo": {"name": "hard", "version": "1"}, "capabilities": {"tools": {}}}
        reply = {"result": {"protocolVersion": "2025-06-18", **about}}
    elif method == "tools/list":
        reply = {"result": {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("die", "work")]}}
    elif method != "tools/call":
        reply = {"error": {"code": -32601, "message": "not known"}}
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, **reply}), flush=True)
"""
"""Heeds neither the end of its input nor TERM."""
AGENT = """
import json, subprocess, sys

config, task, server = sys.argv[1:]
entry = json.load(open(config))["mcpServers"][server]
shim = subprocess.Popen([entry["command"], *entry["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
params = {"name": json.load(open(task))["tool"], "arguments": {}}
call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
shim.stdin.write(json.dumps(call).encode() + b"\\n")
shim.stdin.flush()
assert json.loads(shim.stdout.readline())["id"] == 1
"""
PLACES = {"baseline": "apart", "candidate": "beside"}
"""Arm -> the server that its agent calls."""


@dataclass(frozen=True)
class Ended:
    run: Finished
    records: dict[tuple[str, str], dict[str, Any]]
    """(tool, server) -> the record."""

    def events(self, tool: str, place: str, kind: str) -> list[dict[str, Any]]:
        found = read_events(self.run.run, self.records[tool, place]["trial_id"])
        return [event for event in found if event["kind"] == kind]


def experiment(directory: Path, image: str) -> Path:
    project(directory, {"judge.py": "def judge(task, final_state):\n    return True\n", "server.py": SERVER})
    arms = {
        arm: {"label": place, "command": {"argv": ["python3", "-c", AGENT, "{mcp_config}", "{task_file}", place]}}
        for arm, place in PLACES.items()
    }
    document = {
        "experiment_id": "hard-servers",
        "tasks": [{"id": tool, "task": {"tool": tool}} for tool in ("die", "work")],
        "mcp_servers": {
            "apart": {"image": image, "argv": ["python3", "/server.py"], "crash": "fail"},
            "beside": {"argv": ["python3", "{source}/server.py"], "crash": "fail"},
        },
        "oracle": "judge:judge",
        "n_per_arm": 2,
        "isolation": "docker",
        **arms,
    }
    return descriptor(directory, document)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Iterator[Ended]:
    directory = tmp_path_factory.mktemp("hard-servers")
    with image_with(engine, "COPY server.py /server.py", {"server.py": SERVER.encode()}) as tag:
        run = arci("run", experiment(directory, tag), "--out", directory / "runs", "--json")
        yield Ended(run, {(r["task_id"], PLACES[r["arm"]]): r for r in records(run.run).values()})


@pytest.mark.parametrize(
    ("place", "how", "log"),
    [("apart", "exit status 137", "environment:apart"), ("beside", "killed by signal 9", "boundary")],
)
def test_a_server_that_is_killed_in_mid_call_is_explained_in_the_record(
    place: str, how: str, log: str, ended: Ended, capsys: pytest.CaptureFixture[str]
) -> None:
    record = ended.records["die", place]
    assert (record["outcome"], record["ending"], record["blame"]) == ("FAIL", "environment", "agent"), record["detail"]
    assert record["detail"].startswith(f"server '{place}' ended by itself")
    assert record["detail"].endswith(how)
    assert record["fingerprint"] == f"server|{place}|{how}"
    (call,) = ended.events("die", place, "tool_finish")
    assert (call["ok"], call["error_kind"]) == (False, "environment")
    shown = call_arci(capsys, "logs", ended.run.run, record["trial_id"], "--role", log)
    assert "about to die" in shown.stdout + shown.stderr


@pytest.mark.parametrize("place", PLACES.values())
def test_a_server_that_ignores_its_end_is_gone_with_its_trial(place: str, ended: Ended, engine: Engine) -> None:
    record = ended.records["work", place]
    assert (record["outcome"], record["ending"]) == ("PASS", "completed"), record["detail"]
    ends = {server["name"]: server["ended"] for server in record["environment"]["servers"]}
    assert ends == {"beside": None, "apart": "exit status 137"}
    steps = {event["server"]: event["steps"] for event in ended.events("work", place, "environment_end")}
    assert steps == {"beside": ["stdin", "TERM", "KILL"], "apart": ["stdin"]}  # there `arci-init` does the rest
    mine = {"label": [f"{RUN}={info(ended.run.run)['run_id']}"]}
    assert engine.api.containers(all=True, filters=mine) == []
