"""Preflight: what refuses a run before trial 1, what only warns, and what is left to the trials."""

from __future__ import annotations

from typing import Any

import pytest
from runs import condition, fault
from trials import answer, make_manifest, mcp, mcp_server, shell_arms
from upstreams import asks, model

from arci.errors import ArciError, EngineError, SpecError
from arci.isolation.base import Findings
from arci.isolation.fake import FakeFaults, FakeIsolation, GuestPipes, ScriptedTrial
from arci.isolation.script import Exit, Sleep
from arci.model.manifest import Manifest
from arci.model.trial import Role
from arci.run.preflight import preflight

pytestmark = pytest.mark.anyio

RUNS = ScriptedTrial(agent=(Sleep(3600),))
NO_MODULE = ScriptedTrial(
    statuses=[{"status": "started"}, {"status": "ended", "code": 1, "oom_kills": 0}],
    events=[answer(None, {"kind": "ModuleNotFoundError", "message": "No module named 'agents'"})],
    agent=(Exit(1),),
)
CANNOT_EXECUTE = ScriptedTrial(statuses=[{"status": "exec_failed", "errno": 2}], agent=(Exit(127),))


async def check(script: ScriptedTrial | FakeIsolation, manifest: Manifest | None = None, **host_env: str) -> Findings:
    isolation = script if isinstance(script, FakeIsolation) else FakeIsolation(script)
    return await preflight(manifest or make_manifest(), isolation, "run", host_env=host_env)


def broken_arm(arm: str, script: ScriptedTrial) -> FakeIsolation:
    return FakeIsolation(lambda plan, role: (script if plan.arm == arm else RUNS)(plan, role))


async def test_both_arms_start_once_and_the_oracle_is_asked_once() -> None:
    isolation = FakeIsolation(RUNS, findings=Findings(warnings=("no limits",), facts={"name": "fake"}))
    manifest = make_manifest(conditions=[condition("c", "falsify", fault())])
    findings = await check(isolation, manifest)
    assert [(guest.plan.arm, guest.role) for guest in isolation.started] == [
        ("baseline", Role.BOUNDARY),
        ("baseline", Role.AGENT),
        ("baseline", Role.GRADER),
        ("candidate", Role.BOUNDARY),
        ("candidate", Role.AGENT),
    ]
    assert findings == Findings(warnings=("no limits",), facts={"name": "fake"})


async def test_an_arm_that_cannot_be_imported_is_named_with_its_reason() -> None:
    with pytest.raises(SpecError) as caught:
        await check(broken_arm("candidate", NO_MODULE))
    (problem,) = caught.value.problems
    assert problem.path == "candidate.agent"
    assert "No module named 'agents'" in problem.message
    assert caught.value.exit_code == 64


async def test_all_problems_of_both_arms_come_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        await check(NO_MODULE)
    assert [problem.path for problem in caught.value.problems] == ["baseline.agent", "candidate.agent"]


async def test_a_command_that_cannot_be_executed_is_named() -> None:
    with pytest.raises(SpecError, match="No such file") as caught:
        await check(broken_arm("baseline", CANNOT_EXECUTE), make_manifest(arms=shell_arms("./agent")))
    assert [problem.path for problem in caught.value.problems] == ["baseline.command"]


async def test_agents_that_crash_when_they_run_are_left_to_the_trials() -> None:
    crash = ScriptedTrial(events=[answer(None, {"kind": "ValueError", "message": "no"})], agent=(Exit(1),))
    await check(crash)
    await check(ScriptedTrial(agent=(Exit(1),)), make_manifest(arms=shell_arms()))


async def test_an_import_that_takes_too_long_is_named() -> None:
    slow = ScriptedTrial(statuses=[{"status": "started"}], agent=(Sleep(3600),))
    with pytest.raises(SpecError, match="took longer than setup_seconds"):
        await check(slow, make_manifest({"setup_seconds": 0.02}))


async def test_an_environment_that_does_not_stand_is_the_users_to_mend_and_named_once() -> None:
    trouble = {"type": "trouble", "blame": "environment", "detail": "KeyError: 'sku'", "phase": "setup", "stderr": "tb"}
    with pytest.raises(SpecError) as caught:
        await check(ScriptedTrial(ready=trouble))
    (problem,) = caught.value.problems
    assert (problem.path, problem.message) == ("environment", "KeyError: 'sku'\ntb")


DEATH = {"type": "trouble", "blame": "environment", "detail": "ended by itself", "phase": "setup", "stderr": "no db"}


@pytest.mark.parametrize(
    ("environment", "server", "path"),
    [
        (mcp(mcp_server()), "files", "mcp_server.argv"),
        (mcp(mcp_server(), mcp_server("notes")), "notes", "mcp_servers.notes.argv"),
        (mcp(mcp_server(), mcp_server("notes")), None, "mcp_servers"),
        (mcp(mcp_server(has_image=True, argv=[])), "files", "mcp_server.image"),
        (mcp(mcp_server(has_image=True)), "files", "mcp_server.argv"),
    ],
)
async def test_a_server_that_does_not_stand_is_named_where_it_is_declared(
    environment: dict[str, Any], server: str | None, path: str
) -> None:
    script = ScriptedTrial(ready={**DEATH, "server": server}, environment=(Exit(3),))
    with pytest.raises(SpecError, match="no db") as caught:
        await check(script, make_manifest(environment=environment, arms=shell_arms()))
    assert [problem.path for problem in caught.value.problems] == [path]
    has_container = "has_image" in str(environment) and environment["servers"][0]["has_image"]
    assert ("ended with exit status 3" in str(caught.value)) is has_container


async def test_a_command_is_killed_as_soon_as_it_runs_and_what_it_did_is_not_judged() -> None:
    ended: list[str] = []

    async def works_for_ever(pipes: GuestPipes) -> int:
        try:
            await pipes.sleep(3600)
        finally:
            ended.append(pipes.plan.arm)
        return 0

    calls = [{"kind": "tool_start", "tool": "t", "call_id": "1", "occurrence": 0, "arguments": {}}]
    script = ScriptedTrial(agent=works_for_ever, events=calls, initial_state={}, final_state={})
    await check(script, make_manifest(environment=mcp(mcp_server()), arms=shell_arms()))
    assert ended == ["baseline", "candidate"]


async def test_servers_in_containers_start_and_are_gone_after_preflight() -> None:
    isolation = FakeIsolation(ScriptedTrial(initial_state={}, final_state={}))
    await check(isolation, make_manifest(environment=mcp(mcp_server(has_image=True)), arms=shell_arms()))
    assert [guest.role for guest in isolation.started].count(Role.ENVIRONMENT) == 2
    assert (await isolation.remains("run")).everything == ()


async def test_trouble_of_ours_or_the_engines_is_no_problem_of_the_descriptor() -> None:
    with pytest.raises(ArciError, match="the boundary ended") as caught:
        await check(ScriptedTrial(quits_after="begin"))
    assert not isinstance(caught.value, SpecError)
    faults = FakeFaults(start=EngineError("create", "no space"))
    with pytest.raises(ArciError, match="no space"):
        await check(FakeIsolation(RUNS, faults=lambda plan, role: faults))
    with pytest.raises(ArciError, match="limits are ignored"):
        await check(FakeIsolation(RUNS, findings=Findings(problems=("limits are ignored",))))


async def test_an_oracle_that_cannot_be_imported_refuses_the_run() -> None:
    missing = ScriptedTrial(grade={"kind": "import", "message": "No module named 'world'"})
    with pytest.raises(SpecError, match="No module named 'world'") as caught:
        await check(missing)
    assert [problem.path for problem in caught.value.problems] == ["contract.oracle"]


@pytest.mark.parametrize(
    "script", [ScriptedTrial(grade={"kind": "exception", "message": "KeyError: 'x'"}), ScriptedTrial(grade=b"")]
)
async def test_an_oracle_that_has_no_answer_for_an_untouched_environment_only_warns(script: ScriptedTrial) -> None:
    findings = await check(script)
    assert any("has no answer for an untouched environment" in warning for warning in findings.warnings)


async def test_a_grader_command_that_is_not_there_refuses_the_run() -> None:
    manifest = make_manifest(grader={"kind": "command", "ref": None, "argv": ["./judge"]})
    with pytest.raises(SpecError, match=r"\./judge"):
        await check(ScriptedTrial(grade=b"", grader_exit=127), manifest)


async def test_a_missing_secret_refuses_the_run_before_anything_starts() -> None:
    isolation = FakeIsolation(RUNS)
    arms = shell_arms(secret_env={"API_KEY": "HOST_KEY"})
    with pytest.raises(SpecError) as caught:
        await check(isolation, make_manifest(arms=arms, secrets=["HOST_KEY"]))
    assert [problem.path for problem in caught.value.problems] == ["baseline.env.API_KEY", "candidate.env.API_KEY"]
    assert isolation.started == []


async def test_a_secret_too_short_to_mask_is_told() -> None:
    findings = await check(RUNS, make_manifest(secrets=["PIN"]), PIN="123")
    assert any("PIN" in warning for warning in findings.warnings)


async def test_the_faults_of_every_condition_are_loaded_before_trial_1(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[Any] = []
    read = GuestPipes.read_frame

    async def noted(pipes: GuestPipes) -> Any:
        frames.append(await read(pipes))
        return frames[-1]

    monkeypatch.setattr(GuestPipes, "read_frame", noted)
    conditions = [condition("clean", "clean"), condition("c", "falsify", fault())]
    await check(RUNS, make_manifest(conditions=conditions))
    begun = [frame["faults"] for frame in frames if frame and frame["type"] == "begin"]
    assert [[f["name"] for f in faults] for faults in begun] == [["tool_timeout"]] * 2


async def test_a_key_that_may_not_go_there_or_is_not_set_refuses_the_run_before_anything_starts() -> None:
    isolation = FakeIsolation(RUNS)
    stranger = model("stranger", base_url="https://elsewhere.example/v1", key="OPENAI_API_KEY")
    keyless = model("openai", base_url="https://api.openai.com/v1", key="OPENAI_API_KEY")
    with pytest.raises(SpecError) as caught:
        await check(isolation, make_manifest(models=[stranger, keyless]))
    assert [problem.path for problem in caught.value.problems] == ["models.stranger.base_url", "models.openai.key"]
    assert caught.value.exit_code == 64
    assert isolation.started == []


async def test_a_command_that_calls_a_model_at_once_is_answered_by_nobody_and_no_problem() -> None:
    quick = ScriptedTrial(frames=[asks()], agent=(Sleep(3600),))
    findings = await check(quick, make_manifest(models=[model()], arms=shell_arms()))
    assert not findings.problems


async def test_more_workers_than_calls_at_once_are_worth_a_warning() -> None:
    manifest = make_manifest(models=[model(concurrency=4)])
    findings = await preflight(manifest, FakeIsolation(RUNS), "run", workers=5, host_env={})
    assert any("models.openai: 5 workers, and concurrency 4" in warning for warning in findings.warnings)
    few = await preflight(manifest, FakeIsolation(RUNS), "run", workers=4, host_env={})
    assert not any("concurrency" in warning for warning in few.warnings)
