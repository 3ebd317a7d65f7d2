"""One trial on the fake back end: its choreography, its record, and what becomes of everything that can break."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from trials import ANSWERED, Starts, answer, first_trial, make_manifest, make_trial, outcome, setting_of, shell_arms

from arci.errors import EngineError, StoreError
from arci.isolation.base import Exit, Pod, RunPlan, TrialPlan
from arci.isolation.fake import FakeFaults, FakeIsolation, GuestPipes, ScriptedTrial
from arci.isolation.fake_guest import Program
from arci.isolation.script import Die, Print, Script, Sleep
from arci.isolation.script import Exit as Leave
from arci.manifest.schedule import agent_seed
from arci.model.trial import Role
from arci.run import agent_side, grading, trial
from arci.run.trial import run_trial

pytestmark = pytest.mark.anyio

RESERVE = {"tool": "reserve", "call_id": "1", "occurrence": 0}
CALLS = (
    {"kind": "tool_start", **RESERVE, "arguments": {"n": 1}},
    {"kind": "injection", "fault": "tool_timeout", "fault_index": 0, **RESERVE},
    {"kind": "tool_finish", **RESERVE, "ok": False, "error_kind": "timeout", "injected_by": "tool_timeout"},
)


def broken(**faults: Any) -> Any:
    """Faults of the agent's guest alone."""
    return lambda plan, role: FakeFaults(**faults) if role is Role.AGENT else FakeFaults()


async def test_a_good_trial_gives_a_whole_record() -> None:
    starts, manifest = Starts(), make_manifest()
    script = ScriptedTrial(events=[*CALLS, ANSWERED], final_state={"confirmed": 1})
    isolation = FakeIsolation(script)
    result = await make_trial(isolation, manifest, starts=starts)
    record, planned = result.record, first_trial(manifest)

    assert outcome(result) == "PASS completed None"
    assert (record["trial_id"], record["seed"]) == (planned.trial_id, planned.seed)
    assert record["trial_sha256"] == planned.trial_sha256
    assert record["agent"] == {
        "exit_code": 0,
        "signal": None,
        "claim": {"done": True},
        "failure": None,
        "exec_errno": None,
        "oom_kills": 0,
    }
    assert record["contract"] == {"success": True, "violations": [], "required_missing": []}
    assert record["injections"] == [{"fault": "tool_timeout", "fault_index": 0, "tool": "reserve", "occurrence": 0}]
    assert record["final_state"] == {"confirmed": 1}
    assert record["usage"]["tool_calls"] == 1
    assert record["attempts"] == []
    assert set(record["phases"]) == {"create", "start", "ready", "agent", "seal", "grade"}
    assert record["images"] == manifest.image_digests(planned.arm)
    assert [event["kind"] for event in result.events] == [
        "trial_start",
        "tool_start",
        "injection",
        "tool_finish",
        "agent_result",
        "trial_end",
    ]
    assert starts.seen == [(planned.trial_id, 1)]
    assert [started.role for started in isolation.started] == [Role.BOUNDARY, Role.AGENT, Role.GRADER]


async def test_the_agent_is_told_its_task_and_a_seed_of_its_own_and_nothing_of_the_host() -> None:
    arms = make_arms(env={"MODE": "fast"}, secret_env={"API_KEY": "HOST_KEY"})
    manifest = make_manifest(arms=arms, secrets=["HOST_KEY"])
    isolation = FakeIsolation(ScriptedTrial(events=[ANSWERED]))
    await make_trial(isolation, manifest, host_env={"HOST_KEY": "k-123456", "OTHER": "x"})
    planned = first_trial(manifest)
    env = isolation.started[1].process.env
    assert json.loads(env["ARCI_TASK"]) == planned.task
    assert env["ARCI_SEED"] == str(agent_seed(planned))
    assert (env["MODE"], env["API_KEY"]) == ("fast", "k-123456")
    own = {"ARCI_TASK", "ARCI_TASK_FILE", "ARCI_SEED", "ARCI_WORKDIR", "HOME"}
    mcp = {"ARCI_MCP_COMMAND", "ARCI_MCP_CONFIG", "ARCI_MCP_URL", "ARCI_MCP_URLS"}
    assert set(env) == {*own, *mcp, "MODE", "API_KEY"}
    assert env["ARCI_WORKDIR"] == env["HOME"] == "/arci/agent/work"


async def test_a_long_task_is_not_put_into_the_environment() -> None:
    manifest = make_manifest(tasks=[{"id": "long", "task": {"text": "x" * 40_000}}])
    isolation = FakeIsolation(ScriptedTrial(events=[ANSWERED]))
    await make_trial(isolation, manifest)
    assert "ARCI_TASK" not in isolation.started[1].process.env


def make_arms(**changes: Any) -> dict[str, Any]:
    return shell_arms(**{"kind": "python", "ref": "agents:run", "argv": [], **changes})


ENDINGS: dict[str, tuple[ScriptedTrial, str]] = {
    "the agent raised": (
        ScriptedTrial(events=[answer(None, {"kind": "ValueError", "message": "no"})], agent=(Leave(1),)),
        "FAIL crash agent",
    ),
    "a Python agent left with 0 and no answer": (ScriptedTrial(), "FAIL crash agent"),
    "killed by a signal": (ScriptedTrial(agent=(Die(11),)), "FAIL crash agent"),
    "137 by choice": (ScriptedTrial(agent=(Leave(137),)), "FAIL crash agent"),
    "the agent was killed and nobody knows why": (
        ScriptedTrial(
            statuses=[{"status": "started"}, {"status": "worker_ready"}, {"status": "lost"}], agent=(Die(9),)
        ),
        "FAIL killed agent",
    ),
    "killed for memory": (
        ScriptedTrial(
            statuses=[
                {"status": "started"},
                {"status": "worker_ready"},
                {"status": "ended", "signal": 9, "oom_kills": 1},
            ],
            agent=(Die(9),),
        ),
        "FAIL oom agent",
    ),
    "the oracle refuses": (ScriptedTrial(events=[*CALLS, ANSWERED], grade=False), "FAIL completed agent"),
    "a violation": (
        ScriptedTrial(
            events=[{"kind": "violation", "invariant": "forbidden_tools", "tool": "x", "detail": ""}, ANSWERED]
        ),
        "FAIL violation agent",
    ),
    "the world broke first": (
        ScriptedTrial(
            frames=[{"type": "trouble", "blame": "environment", "detail": "gone", "phase": "trial"}],
            agent=(Sleep(60),),
        ),
        "ERROR environment environment",
    ),
    "the boundary died": (
        ScriptedTrial(events=[ANSWERED], quits_after="events", agent=(Sleep(60),)),
        "ERROR harness harness",
    ),
    "the boundary died when it was asked for the end": (
        ScriptedTrial(events=[ANSWERED], quits_after="final_state"),
        "ERROR harness harness",
    ),
    "the boundary counts other events": (ScriptedTrial(events=[ANSWERED], count=7), "ERROR harness harness"),
    "no frame at all": (ScriptedTrial(events=[ANSWERED], noise=b"Killed\n"), "ERROR harness harness"),
    "a frame that no recorder sends": (
        ScriptedTrial(events=[ANSWERED], frames=[{"type": "verdict", "success": True}]),
        "ERROR harness harness",
    ),
    "an event in the host's name": (ScriptedTrial(events=[{**ANSWERED, "seq": 3}]), "ERROR harness harness"),
    "the oracle raised": (
        ScriptedTrial(events=[ANSWERED], grade={"kind": "ZeroDivisionError", "message": "by zero"}),
        "ERROR grader grader",
    ),
    "the grader prints no frame": (ScriptedTrial(events=[ANSWERED], grade=b"true\n"), "ERROR grader grader"),
    "the grader's frame has another nonce": (
        ScriptedTrial(events=[ANSWERED], grade=b'{"type":"grade","nonce":"0","success":true}\n'),
        "ERROR grader grader",
    ),
    "the grader succeeds and then crashes": (ScriptedTrial(events=[ANSWERED], grader_exit=1), "ERROR grader grader"),
}


@pytest.mark.parametrize(("script", "expected"), ENDINGS.values(), ids=ENDINGS.keys())
async def test_what_happens_decides_how_a_trial_counts(script: ScriptedTrial, expected: str) -> None:
    assert outcome(await make_trial(script)) == expected


async def test_required_tools_are_judged_on_completed_trials() -> None:
    contract: dict[str, Any] = {
        "max_tool_calls": None,
        "forbidden_tools": [],
        "required_tools": ["reserve", "confirm"],
        "max_calls_per_tool": {},
        "hard": [],
    }
    manifest = make_manifest(contract=contract)
    result = await make_trial(ScriptedTrial(events=[*CALLS, ANSWERED]), manifest)
    assert outcome(result) == "FAIL violation agent"
    assert result.record["contract"] == {"success": True, "violations": [], "required_missing": ["confirm"]}
    crashed = await make_trial(ScriptedTrial(agent=(Leave(1),)), manifest)
    assert crashed.record["contract"]["required_missing"] == []


async def test_lines_that_look_like_trouble_of_the_engine_are_the_agents_own() -> None:
    lines = b"Killed\nCould not resolve host: registry\nError response from daemon: OCI runtime create failed\n"
    agent: Script = (Print(lines), Print(lines, "stderr"), Leave(1))
    assert outcome(await make_trial(ScriptedTrial(agent=agent), make_manifest(arms=shell_arms()))) == "FAIL crash agent"


async def test_a_crash_is_not_graded_and_a_good_trial_is_graded_after_the_agent_is_gone() -> None:
    isolation = FakeIsolation(ScriptedTrial(agent=(Leave(3),)))
    crashed = await make_trial(isolation)
    assert Role.GRADER not in [started.role for started in isolation.started]
    assert crashed.record["contract"]["success"] is None
    assert crashed.record["final_state"] == {}
    ends: list[bool] = []

    class Watching(ScriptedTrial):
        async def _grader(self, pipes: GuestPipes) -> int:
            ends.append(Role.AGENT in pipes.board.ends)
            return await super()._grader(pipes)

    await make_trial(FakeIsolation(Watching(events=[ANSWERED])))
    assert ends == [True]


async def test_an_agent_that_runs_too_long_is_stopped_and_fails() -> None:
    script = ScriptedTrial(agent=(Sleep(3600),), statuses=[{"status": "started"}, {"status": "worker_ready"}])
    result = await make_trial(script, make_manifest({"max_seconds": 0.02}))
    assert outcome(result) == "FAIL timeout agent"
    assert result.record["fingerprint"] == "timeout|max_seconds"
    assert result.record["final_state"] == {}


async def test_a_stream_that_never_closes_does_not_hold_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_DRAIN_S", 0.02)
    isolation = FakeIsolation(ScriptedTrial(events=[ANSWERED]), faults=broken(output_never_closes=True))
    assert outcome(await make_trial(isolation)) == "PASS completed None"
    hanging = FakeIsolation(ScriptedTrial(agent=(Sleep(3600),)), faults=broken(output_never_closes=True))
    assert outcome(await make_trial(hanging, make_manifest({"max_seconds": 0.02}))) == "FAIL timeout agent"


class _SlowStart(FakeIsolation):
    """An engine that takes `start_s` to start an agent, and its worker as long again to import."""

    def __init__(self, script: ScriptedTrial, start_s: float) -> None:
        super().__init__(script)
        self.start_s = start_s

    @asynccontextmanager
    async def _open(self, run: RunPlan) -> AsyncIterator[Any]:
        async with super()._open(run) as slots:
            make = slots.pod

            @asynccontextmanager
            async def slow(plan: TrialPlan) -> AsyncIterator[Pod]:
                async with make(plan) as pod:
                    start = pod.start

                    async def later(role: Role, process: Any) -> Any:
                        await anyio.sleep(self.start_s if role is Role.AGENT else 0)
                        return await start(role, process)

                    pod.start = later  # type: ignore[method-assign]  # in place of one pod's method
                    yield pod

            slots.pod = slow  # type: ignore[method-assign]  # in place of one object's method
            yield slots


async def test_a_slow_start_is_not_charged_to_the_agent() -> None:
    isolation = _SlowStart(ScriptedTrial(events=[ANSWERED]), 3.3)
    result = await make_trial(isolation, make_manifest({"max_seconds": 3.0}))
    assert outcome(result) == "PASS completed None"
    assert result.record["usage"]["agent_seconds"] < result.record["phases"]["start"]


async def test_an_import_that_never_ends_is_the_agents_timeout() -> None:
    script = ScriptedTrial(agent=(Sleep(3600),), statuses=[{"status": "started"}])
    result = await make_trial(script, make_manifest({"setup_seconds": 2.0}))
    assert outcome(result) == "FAIL timeout agent"
    assert result.record["usage"]["agent_seconds"] == 0


async def test_a_budget_stops_the_agent_after_a_short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_side, "_LATCH_GRACE_S", 0.02)
    latched = {"type": "latched", "budget": "max_tool_calls"}
    result = await make_trial(ScriptedTrial(frames=[latched], agent=(Sleep(3600),)))
    assert outcome(result) == "FAIL budget agent"
    assert result.record["fingerprint"] == "budget|max_tool_calls"
    swallowed = await make_trial(ScriptedTrial(events=[ANSWERED], frames=[latched]))
    assert outcome(swallowed) == "FAIL budget agent"


async def test_a_grade_printed_before_a_deadline_that_passes_does_not_count() -> None:
    class Late(ScriptedTrial):
        """Prints a good frame and stays; something of it would go on writing."""

        async def _grader(self, pipes: GuestPipes) -> int:
            given = b""
            while piece := await pipes.read():
                given += piece
            pipes.write_frame({"type": "grade", "nonce": json.loads(given)["nonce"], "success": True})
            await anyio.sleep_forever()
            raise AssertionError("nothing wakes it")

    result = await make_trial(FakeIsolation(Late(events=[ANSWERED])), make_manifest({"grader_seconds": 0.02}))
    assert outcome(result) == "ERROR grader grader"
    assert result.record["contract"]["success"] is None
    assert "timeout" in result.record["detail"]


async def test_a_grade_beyond_the_cap_is_refused_and_not_read_from_the_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "MOST_OUTPUT_BYTES", 1000)
    manifest = make_manifest(grader={"kind": "command", "ref": None, "argv": ["./oracle"]})
    script = ScriptedTrial(events=[ANSWERED], grade=b" " * 2000 + b'{"success": true}')
    result = await make_trial(script, manifest)
    assert outcome(result) == "ERROR grader grader"
    assert "truncated" in result.record["detail"]


@pytest.mark.parametrize(
    ("printed", "code", "expected"),
    [
        (b'{"success": true}', 0, "PASS completed None"),
        (b'{"success": false}\n', 0, "FAIL completed agent"),
        (b'{"success": 1}', 0, "ERROR grader grader"),
        (b'{"success": true}', 2, "ERROR grader grader"),
        (b'log\n{"success": true}', 0, "ERROR grader grader"),
        (b"", 0, "ERROR grader grader"),
        (b"\xff\xfe", 0, "ERROR grader grader"),
    ],
)
async def test_a_command_grades_by_its_only_output(printed: bytes, code: int, expected: str) -> None:
    manifest = make_manifest(grader={"kind": "command", "ref": None, "argv": ["./oracle"]})
    script = ScriptedTrial(events=[ANSWERED], grade=printed, grader_exit=code)
    assert outcome(await make_trial(script, manifest)) == expected


async def test_what_breaks_before_the_agent_is_made_again_in_fresh_pods_at_most_twice() -> None:
    trouble = {"type": "trouble", "blame": "harness", "detail": "no loopback", "phase": "setup"}
    starts, isolation = Starts(), FakeIsolation(ScriptedTrial(ready=trouble))
    result = await make_trial(isolation, starts=starts)
    assert outcome(result) == "ERROR setup harness"
    assert result.record["attempts"] == [
        {"attempt": 1, "detail": "no loopback"},
        {"attempt": 2, "detail": "no loopback"},
    ]
    assert [(started.role, started.plan.attempt) for started in isolation.started] == [
        (Role.BOUNDARY, 1),
        (Role.BOUNDARY, 2),
        (Role.BOUNDARY, 3),
    ]
    assert starts.seen == []
    assert not result.agent_started


async def test_an_engine_that_fails_once_costs_one_attempt() -> None:
    def faults(plan: TrialPlan, role: Role) -> FakeFaults:
        fails = role is Role.AGENT and plan.attempt == 1
        return FakeFaults(start=EngineError("create", "no address")) if fails else FakeFaults()

    starts = Starts()
    result = await make_trial(FakeIsolation(ScriptedTrial(events=[ANSWERED]), faults=faults), starts=starts)
    assert outcome(result) == "PASS completed None"
    assert result.record["attempts"] == [{"attempt": 1, "detail": "create: no address"}]
    assert [number for _, number in starts.seen] == [1, 2]


async def test_a_trial_whose_agent_ran_is_never_made_again() -> None:
    isolation = FakeIsolation(ScriptedTrial(events=[ANSWERED], quits_after="events", agent=(Sleep(3600),)))
    result = await make_trial(isolation)
    assert outcome(result) == "ERROR harness harness"
    assert result.agent_started
    assert [started.role for started in isolation.started] == [Role.BOUNDARY, Role.AGENT]


async def test_a_boundary_that_dies_before_it_told_of_the_start_does_not_prove_that_nothing_ran() -> None:
    script = ScriptedTrial(statuses=[], quits_after="events", agent=(Sleep(3600),))
    isolation = FakeIsolation(script)
    result = await make_trial(isolation)
    assert outcome(result) == "ERROR setup harness"
    assert result.agent_started
    assert len(isolation.started) == 2


async def test_an_agent_that_goes_down_with_its_boundary_did_not_fail() -> None:
    """The agent's end is seen first, the boundary's after it, as an engine may well tell them."""

    said: list[dict[str, Any]] = [
        {"type": "ready", "tools": []},
        {"type": "status", "status": "started"},
        {"type": "status", "status": "worker_ready"},
    ]

    async def dies_when_asked(pipes: GuestPipes) -> int:
        while (frame := await pipes.read_frame()) is not None and frame["type"] != "agent_gone":
            if frame["type"] == "begin":
                for told in said:
                    pipes.write_frame(told)
        return 70

    async def killed(pipes: GuestPipes) -> Exit:
        return Exit(137, 9)

    async def graded(pipes: GuestPipes) -> int:
        return 0

    programs: dict[Role, Program] = {Role.BOUNDARY: dies_when_asked, Role.AGENT: killed, Role.GRADER: graded}
    result = await make_trial(FakeIsolation(lambda plan, role: programs[role]))
    assert outcome(result) == "ERROR harness harness"
    assert result.record["detail"] == "the boundary ended before it said `end`"


async def test_an_agent_that_cannot_be_executed_is_no_failure_of_the_agent() -> None:
    failed = [{"status": "exec_failed", "errno": 2}]
    result = await make_trial(ScriptedTrial(statuses=failed, agent=(Leave(127),)), make_manifest(arms=shell_arms()))
    assert outcome(result) == "ERROR setup harness"
    assert result.record["agent"]["exec_errno"] == 2
    assert len(result.record["attempts"]) == 2


@pytest.mark.parametrize("call", ["wait", "stop"])
async def test_an_engine_that_fails_in_the_middle_is_named(call: str) -> None:
    isolation = FakeIsolation(
        ScriptedTrial(events=[ANSWERED], agent=(Sleep(0.01),)), faults=broken(**{call: EngineError(call, "gone")})
    )
    result = await make_trial(isolation)
    assert outcome(result) == "ERROR harness engine"
    assert result.record["detail"] == f"{call}: gone"


async def test_a_pod_that_cannot_be_removed_leaves_the_judgement_alone() -> None:
    class Leaking(FakeIsolation):
        @asynccontextmanager
        async def _open(self, run: RunPlan) -> AsyncIterator[Any]:
            async with super()._open(run) as slots:
                make = slots.pod

                @asynccontextmanager
                async def leaking(plan: TrialPlan) -> AsyncIterator[Pod]:
                    async with make(plan) as pod:
                        yield pod
                    raise EngineError("remove", "container c1 does not go")

                slots.pod = leaking  # type: ignore[method-assign]  # in place of one object's method
                yield slots

    result = await make_trial(Leaking(ScriptedTrial(events=[ANSWERED])))
    assert outcome(result) == "PASS completed None"
    assert result.left_behind == "remove: container c1 does not go"


async def test_a_store_that_cannot_be_written_ends_the_trial_with_its_error() -> None:
    async def full(trial_id: str, attempt: int) -> None:
        raise StoreError("events.jsonl: no space left on device")

    manifest = make_manifest()
    isolation = FakeIsolation(ScriptedTrial(events=[ANSWERED]))
    with pytest.raises(StoreError, match="no space left"):
        async with isolation.open(RunPlan("run", manifest, 1)) as slots:
            await run_trial(slots, first_trial(manifest), setting_of(manifest), full)
    assert [started.role for started in isolation.started] == [Role.BOUNDARY]


async def test_a_mistake_of_ours_spoils_one_trial_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def mistaken(*_: Any) -> None:
        raise KeyError("nonce")

    monkeypatch.setattr(trial, "grade_trial", mistaken)
    result = await make_trial(ScriptedTrial(events=[ANSWERED]))
    assert outcome(result) == "ERROR harness harness"
    assert "internal error: KeyError" in result.record["detail"]


async def test_evidence_reaches_the_grader_and_the_record() -> None:
    seen: list[dict[str, Any]] = []

    async def writes(pipes: GuestPipes) -> Exit:
        pipes.files["/arci/agent/work/out/report.md"] = b"# Report\n"
        pipes.files["/arci/agent/work/out/raw.bin"] = b"\xff\x00"
        pipes.files["/arci/agent/work/out/link.md"] = "/etc/passwd"
        pipes.files["/arci/agent/work/private.md"] = b"not declared"
        return Exit(0)

    class Looking(ScriptedTrial):
        async def _grader(self, pipes: GuestPipes) -> int:
            assert pipes.process.stdin is not None
            seen.append(json.loads(pipes.process.stdin))
            return await super()._grader(pipes)

    script = Looking(events=[ANSWERED], agent=writes, initial_state={"n": 0}, final_state={"n": 1})
    result = await make_trial(FakeIsolation(script), make_manifest(evidence=["out/*"]))
    assert outcome(result) == "PASS completed None"
    (given,) = seen
    assert given["evidence"] == {
        "files": {"out/report.md": {"text": "# Report\n"}, "out/raw.bin": {"base64": "/wA="}},
        "claim": {"done": True},
        "initial_state": {"n": 0},
    }
    assert given["final_state"] == {"n": 1}
    assert (result.record["initial_state"], result.record["final_state"]) == ({"n": 0}, {"n": 1})
    assert set(result.record["evidence"]["files"]) == {"out/report.md", "out/raw.bin"}


async def test_evidence_over_its_caps_is_the_agents_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def writes(pipes: GuestPipes) -> Exit:
        pipes.files["/arci/agent/work/big.txt"] = b"x" * (9 << 20)
        return Exit(0)

    isolation = FakeIsolation(ScriptedTrial(events=[ANSWERED], agent=writes))
    result = await make_trial(isolation, make_manifest(evidence=["big.txt"]))
    assert outcome(result) == "FAIL evidence agent"
    assert Role.GRADER not in [started.role for started in isolation.started]


async def test_an_engine_that_cannot_read_the_evidence_is_not_the_agents_failure() -> None:
    faults = broken(get=EngineError("archive", "gone"))
    result = await make_trial(
        FakeIsolation(ScriptedTrial(events=[ANSWERED]), faults=faults), make_manifest(evidence=["a"])
    )
    assert outcome(result) == "ERROR harness engine"


async def test_logs_are_kept_with_exact_counts_and_a_log_that_breaks_harms_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent: Script = (Print(b"hello\n"), Print(b"oh\n", "stderr"))
    script = ScriptedTrial(events=[ANSWERED], agent=agent)
    result = await make_trial(script)
    assert result.logs["agent"]["stdout"].kept == b"hello\n"
    assert result.record["logs"]["agent"]["stderr"]["bytes"] == 3

    def fails(*_: Any) -> Any:
        raise MemoryError("too long to join")

    monkeypatch.setattr("arci.run.logs._keep", fails)
    result = await make_trial(script)
    assert outcome(result) == "PASS completed None"
    assert result.logs["agent"] == {}
    assert result.record["logs"]["agent"]["stdout"] == {"bytes": 6, "head_bytes": 0, "kept_sha256": None}


async def test_secrets_are_masked_wherever_a_record_holds_text() -> None:
    secret = "s3cr3t/marker"
    arms = make_arms(secret_env={"API_KEY": "HOST_KEY"})
    events = [
        {"kind": "tool_start", "tool": "reserve", "occurrence": 0, "arguments": {secret: [secret]}},
        answer({"key": secret}),
    ]
    script = ScriptedTrial(
        events=events,
        agent=(Print(secret.encode()), Print(secret.encode(), "stderr")),
        final_state={"note": f"Bearer {secret}"},
        grade={"kind": "ValueError", "message": secret},
    )
    result = await make_trial(script, make_manifest(arms=arms, secrets=["HOST_KEY"]), host_env={"HOST_KEY": secret})
    assert secret not in json.dumps([result.record, result.events])
    assert secret.encode() not in result.logs["agent"]["stdout"].kept + result.logs["agent"]["stderr"].kept
    assert result.record["final_state"] == {"note": "Bearer <secret:HOST_KEY>"}
    assert result.record["logs"]["agent"]["stdout"]["bytes"] == len(secret)


async def test_a_cancelled_trial_gives_no_result() -> None:
    manifest, made = make_manifest(), []
    isolation = FakeIsolation(ScriptedTrial(agent=(Sleep(3600),)))
    async with isolation.open(RunPlan("run", manifest, 1)) as slots, anyio.create_task_group() as group:

        async def make() -> None:
            made.append(await run_trial(slots, first_trial(manifest), setting_of(manifest), Starts()))

        group.start_soon(make)
        while not any(started.role is Role.AGENT for started in isolation.started):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert made == []
