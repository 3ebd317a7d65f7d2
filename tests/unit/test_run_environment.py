"""MCP servers around a trial on the fake back end: their orders, containers, deaths, and the states they leave."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from trials import (
    first_trial,
    make_manifest,
    make_trial,
    mcp,
    mcp_server,
    outcome,
    shell_arms,
    snapshot,
)

from arci.errors import EngineError
from arci.isolation.base import Exit
from arci.isolation.fake import FakeFaults, FakeIsolation, GuestPipes, ScriptedTrial
from arci.isolation.script import Exit as Leave
from arci.isolation.script import Print, Script
from arci.model.manifest import Manifest
from arci.model.trial import Role
from arci.run import environment_side, evidence
from arci.run.result import TrialResult
from arci.run.states import StateMissing, joined_state

pytestmark = pytest.mark.anyio

WORK = "/arci/environment/work"
DEATH = {"type": "trouble", "blame": "environment", "detail": "files ended by itself", "phase": "trial"}


def experiment(*servers: dict[str, Any], is_single: bool | None = None, **changes: Any) -> Manifest:
    environment = mcp(*(servers or (mcp_server(),)), is_single=is_single)
    return make_manifest(environment=environment, arms=shell_arms(), **changes)


def scripted(**changes: Any) -> ScriptedTrial:
    return ScriptedTrial(**{"initial_state": {"files": None}, "final_state": {"files": None}, **changes})


def keeps(*paths: str, **changes: Any) -> dict[str, Any]:
    """A server in a container of its own whose state is in its files."""
    return mcp_server(has_image=True, snapshot=snapshot("files", paths=list(paths)), **changes)


def heard(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The frames that guests read, as they come."""
    frames: list[dict[str, Any]] = []
    read = GuestPipes.read_frame

    async def noted(pipes: GuestPipes) -> dict[str, Any] | None:
        frame = await read(pipes)
        frames.extend([] if frame is None else [frame])
        return frame

    monkeypatch.setattr(GuestPipes, "read_frame", noted)
    return frames


def graded(isolation: FakeIsolation) -> dict[str, Any]:
    """What the grader was given."""
    stdin = next(guest.process.stdin for guest in isolation.started if guest.role is Role.GRADER)
    assert stdin is not None
    value: dict[str, Any] = json.loads(stdin)
    return value


async def writes(pipes: GuestPipes) -> Exit:
    """A server that has written something by the time it is looked at, and more by its end."""
    pipes.files[f"{pipes.workdir}/data.txt"] = b"before"
    await pipes.board.flag("agent ended").wait()
    pipes.files[f"{pipes.workdir}/data.txt"] = b"after"
    pipes.files[f"{pipes.workdir}/raw.bin"] = b"\xff"
    pipes.files[f"{pipes.workdir}/link.txt"] = "/etc/passwd"
    pipes.files[f"{pipes.workdir}/private"] = b"not declared"
    return Exit(0)


async def test_the_recorder_is_told_where_to_listen_and_what_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = heard(monkeypatch)
    argv = ["serve", "{workdir}", "{task_file}", "{seed}", "{source}/x", "{other}"]
    takes = snapshot("tool", tool="dump", arguments={"all": True})
    beside, inside = mcp_server("notes", argv=argv, env={"A": "b"}, snapshot=takes), keeps("x.txt", name="files")
    manifest = experiment(beside, inside)
    told: dict[str, Any] = {"notes": {}, "files": None}
    await make_trial(ScriptedTrial(initial_state=told, final_state=told), manifest)
    begin = next(frame for frame in frames if frame["type"] == "begin")
    seed = str(first_trial(manifest).seed)
    assert begin["listen"] == ["unix:/arci/socket", "tcp:127.0.0.1:0"]
    assert len(set(begin["tokens"].values())) == len(begin["tokens"]) == 3
    assert begin["servers"][0] == {
        "name": "notes",
        "argv": ["serve", f"{WORK}/notes", f"{WORK}/notes.task.json", seed, "/arci/boundary/source/x", "{other}"],
        "env": {"A": "b"},
        "workdir": f"{WORK}/notes",
        "task_file": f"{WORK}/notes.task.json",
        "snapshot": takes,
    }
    assert begin["servers"][1]["argv"] is None


async def test_a_python_agents_generator_is_told_and_never_another_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = heard(monkeypatch)
    await make_trial(ScriptedTrial())
    await make_trial(ScriptedTrial(initial_state={}), experiment())
    python, command = [frame["trial"] for frame in frames if frame["type"] == "begin"]
    version, numbers, gauss = python["rng_state"]
    generator = random.Random()
    generator.setstate((version, tuple(numbers), gauss))
    assert generator.random() == random.Random(f"{python['seed']}:agent").random()
    assert command["rng_state"] is None


async def test_a_toolset_is_named_in_the_recorders_argv_and_servers_are_not() -> None:
    plain, served = FakeIsolation(ScriptedTrial()), FakeIsolation(ScriptedTrial(initial_state={}))
    await make_trial(plain)
    await make_trial(served, experiment())
    assert "--toolset" in plain.started[0].process.argv
    assert "--toolset" not in served.started[0].process.argv


async def test_a_server_with_an_image_is_started_between_recorder_and_agent() -> None:
    isolation = FakeIsolation(scripted())
    manifest = experiment(keeps("a.txt", argv=["serve", "--in", "{workdir}", "{source}"], env={"LEVEL": "3"}))
    result = await make_trial(isolation, manifest)
    assert outcome(result) == "PASS completed None", result.record["detail"]
    roles = [guest.role for guest in isolation.started]
    assert roles == [Role.BOUNDARY, Role.ENVIRONMENT, Role.AGENT, Role.GRADER]
    process, trial = isolation.started[1].process, first_trial(manifest)
    assert process.argv == ("serve", "--in", f"{WORK}/files", ".")
    assert process.serve is not None
    assert process.serve[0] == "files"
    assert process.directories == (f"{WORK}/files",)
    assert json.loads(process.files[f"{WORK}/files.task.json"]) == trial.task
    assert (process.env["ARCI_SEED"], process.env["LEVEL"]) == (str(trial.seed), "3")
    assert process.env["ARCI_TASK_FILE"] == f"{WORK}/files.task.json"
    assert not any(name.startswith("ARCI_MCP") for name in process.env)


async def test_the_state_of_files_is_read_before_the_agent_and_after_the_servers_end() -> None:
    isolation = FakeIsolation(scripted(environment=writes))
    result = await make_trial(isolation, experiment(keeps("*.txt", "raw.bin")))
    before, after = {"files": {"data.txt": {"text": "before"}}}, {"data.txt": {"text": "after"}}
    assert result.record["initial_state"] == before
    assert result.record["final_state"] == {"files": {**after, "raw.bin": {"base64": "/w=="}}}
    given = graded(isolation)
    assert given["final_state"] == result.record["final_state"]
    assert given["evidence"]["initial_state"] == before


async def test_of_several_servers_the_state_is_by_name_and_of_one_without_a_snapshot_empty() -> None:
    told: dict[str, Any] = {"files": None, "notes": {"n": 1}, "clock": None}
    script = ScriptedTrial(initial_state=told, final_state={**told, "notes": {"n": 2}}, environment=writes)
    notes = mcp_server("notes", snapshot=snapshot("resource", uri="notes://all"))
    result = await make_trial(script, experiment(keeps("data.txt"), notes, mcp_server("clock")))
    assert result.record["final_state"] == {
        "files": {"files": {"data.txt": {"text": "after"}}},
        "notes": {"n": 2},
        "clock": {},
    }
    assert result.record["initial_state"]["notes"] == {"n": 1}


@pytest.mark.parametrize(
    ("told", "files"), [({}, {}), ({"a": None}, {}), ({"a": [1]}, {"a": {}}), ({"a": "x"}, {"b": {"files": {}}})]
)
def test_a_state_that_is_missing_is_not_taken_for_an_empty_one(told: Any, files: Any) -> None:
    servers = mcp_server("a", snapshot=snapshot("tool", tool="dump")), mcp_server("b")
    environment = experiment(*servers).environment
    with pytest.raises(StateMissing, match="server a"):
        joined_state(environment, told, files)


async def test_a_recorder_that_tells_no_state_of_a_server_is_a_harness_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment_side, "_SLACK_S", 0.0)
    server = mcp_server(snapshot=snapshot("tool", tool="dump"))
    result = await make_trial(ScriptedTrial(initial_state={"files": {}}, final_state={}), experiment(server))
    assert outcome(result) == "ERROR harness harness"
    silent = await make_trial(ScriptedTrial(), experiment(server, budgets={"tool_seconds": 0.001}))
    assert outcome(silent) == "ERROR setup harness"


@pytest.mark.parametrize("size", [evidence.MOST_FILE_BYTES + 1, evidence.MOST_ARCHIVE_BYTES + 1])
async def test_files_over_the_caps_are_the_environments_error_before_and_the_agents_failure_after(size: int) -> None:
    async def floods(pipes: GuestPipes) -> Exit:
        pipes.files[f"{pipes.workdir}/big"] = b"x" * size
        return Exit(0)

    async def floods_late(pipes: GuestPipes) -> Exit:
        await pipes.board.flag("agent ended").wait()
        return await floods(pipes)

    for server, expected in ((floods, "ERROR environment environment"), (floods_late, "FAIL evidence agent")):
        result = await make_trial(scripted(environment=server), experiment(keeps("big")))
        assert outcome(result) == expected
        assert "files: snapshot: " in result.record["detail"]


async def test_an_engine_that_loses_the_files_is_the_engines_error() -> None:
    faults = FakeFaults(get=EngineError("read", "gone"))
    lost = FakeIsolation(scripted(), faults=lambda plan, role: faults if role is Role.ENVIRONMENT else FakeFaults())
    assert outcome(await make_trial(lost, experiment(keeps("a")))) == "ERROR setup engine"


def dying(*script: Any, during_call: bool = True, **frame: Any) -> ScriptedTrial:
    """The server dies while the agent works, and the recorder says so."""
    program: Script = (Print(b"cannot go on\n", stream="stderr"), *script)
    death = {**DEATH, "server": "files", "during_call": during_call, **frame}
    return scripted(environment=program, frames=[death], agent=(Leave(0),))


async def test_a_death_is_explained_with_how_the_container_ended_and_what_it_printed() -> None:
    result = await make_trial(dying(Leave(3)), experiment(keeps("a")))
    assert outcome(result) == "ERROR environment environment"
    assert result.record["detail"] == "files ended by itself: its container ended with exit status 3"
    assert result.logs["environment:files"]["stderr"].head == b"cannot go on\n"


async def test_a_death_during_a_call_is_the_agents_failure_where_the_descriptor_says_so() -> None:
    fragile = keeps("a", crash="fail")
    failed = await make_trial(dying(Leave(3)), experiment(fragile))
    assert outcome(failed) == "FAIL environment agent"
    assert failed.record["fingerprint"] == "server|files|exit status 3"
    other = await make_trial(dying(Leave(4)), experiment(fragile))
    assert other.record["fingerprint"] == "server|files|exit status 4"
    assert outcome(await make_trial(dying(Leave(3), during_call=False), experiment(fragile))) == (
        "ERROR environment environment"
    )


async def test_the_death_of_a_server_beside_the_recorder_is_named_by_what_the_recorder_says() -> None:
    fragile = mcp_server(crash="fail", snapshot=snapshot("tool", tool="dump"))
    states: Any = {"initial_state": {"files": {}}, "final_state": {"files": {}}}
    told = {**DEATH, "server": "files", "during_call": True}
    by_signal = ScriptedTrial(frames=[{**told, "how": "killed by signal 9"}], **states)
    assert (await make_trial(by_signal, experiment(fragile))).record["fingerprint"] == "server|files|killed by signal 9"
    unknown = await make_trial(ScriptedTrial(frames=[told], **states), experiment(fragile))
    assert unknown.record["fingerprint"] == "server|files|files ended by itself"


async def test_a_server_that_the_engine_cannot_start_is_made_again_and_never_the_agents() -> None:
    faults = FakeFaults(start=EngineError("create", "no space"))
    broken = FakeIsolation(scripted(), faults=lambda plan, role: faults if role is Role.ENVIRONMENT else FakeFaults())
    result = await make_trial(broken, experiment(keeps("a")))
    assert outcome(result) == "ERROR setup engine"
    assert len(result.record["attempts"]) == 2
    assert all(guest.role is Role.BOUNDARY for guest in broken.started)


async def test_a_command_agent_that_uses_no_tool_is_judged_by_the_oracle() -> None:
    idle: TrialResult = await make_trial(scripted(grade=False), experiment(keeps("a")))
    assert outcome(idle) == "FAIL completed agent"
    lucky = await make_trial(scripted(), experiment(keeps("a")))
    assert (outcome(lucky), lucky.record["agent"]["claim"]) == ("PASS completed None", None)


async def test_the_record_tells_what_the_servers_said_of_themselves_and_counts_what_passed() -> None:
    about = {"name": "files", "era": "legacy", "revision": "2025-06-18", "info": {"name": "fs", "version": "1"}}
    tools = [{"name": "read", "inputSchema": {}}]
    ready = {"type": "ready", "tools": tools, "servers": [{**about, "more": 1}], "listening": []}
    events = [
        {"kind": "relay", "server": "files", "method": "resources/list", "params": {}, "ok": True},
        {"kind": "notification", "server": "files", "method": "notifications/message"},
        {"kind": "environment_end", "server": "files", "steps": ["stdin"], "how": "exit 0"},
    ]
    result = await make_trial(scripted(ready=ready, events=events), experiment(keeps("a")))
    assert result.record["environment"]["servers"] == [{**about, "ended": "exit status 0"}]
    again = await make_trial(scripted(ready={**ready, "tools": []}), experiment(keeps("a")))
    assert result.record["environment"]["tools_sha256"] != again.record["environment"]["tools_sha256"]
    assert (result.record["usage"]["relays"], result.record["usage"]["notifications"]) == (1, 1)
    assert "environment_end" in [event["kind"] for event in result.events]


@pytest.mark.parametrize(
    ("required", "called", "missing"),
    [
        ("add", "add", []),
        ("files.add", "add", []),
        ("files.add", "files.add", []),
        ("notes.add", "files.add", ["notes.add"]),
        ("add", "files.add", ["add"]),
        ("other.add", "add", ["other.add"]),
    ],
)
async def test_a_required_tool_may_be_named_with_its_server(required: str, called: str, missing: list[str]) -> None:
    contract = {"required_tools": [required], "forbidden_tools": [], "max_calls_per_tool": {}, "hard": []}
    manifest = experiment(mcp_server(), mcp_server("notes"), contract={**contract, "max_tool_calls": None})
    calls = [{"kind": "tool_start", "tool": called, "call_id": "1", "occurrence": 0, "arguments": {}}]
    result = await make_trial(ScriptedTrial(events=calls, initial_state={}, final_state={}), manifest)
    assert result.record["contract"]["required_missing"] == missing
