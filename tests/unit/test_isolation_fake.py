"""The fake back end: whole trials as values, guests as functions, and everything that can break on request."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from arci.errors import EngineError
from arci.isolation.base import Chunk, Guest, Pod, ProcessSpec, TrialPlan
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.fake import FakeFaults, FakeIsolation, GuestPipes, ScriptedTrial
from arci.isolation.script import Die, Exit, Print, Sleep, WriteFile
from arci.model.trial import Role

PLAN = TrialPlan("clean:00000:baseline", "baseline", 1)
ARGV = ProcessSpec(("anything",))


@asynccontextmanager
async def pod_of(isolation: FakeIsolation) -> AsyncIterator[Pod]:
    async with isolation.open(conformance_plan("fake")) as slots, slots.pod(PLAN) as pod:
        yield pod


async def frames_of(guest: Guest) -> list[dict[str, Any]]:
    output = b"".join([chunk.data async for chunk in guest.output() if chunk.stream == "stdout"])
    return [json.loads(line) for line in output.splitlines()]


async def choreography(trial: ScriptedTrial, *, agent_argv: tuple[str, ...] = ("agent",)) -> dict[str, Any]:
    """What a host sees of `trial` when it does what a host does, without looking."""
    async with pod_of(FakeIsolation(trial)) as pod:
        recorder = await pod.start(Role.BOUNDARY, ARGV)
        await recorder.send(b'{"type": "begin"}\n')
        agent = await pod.start(Role.AGENT, ProcessSpec(agent_argv))
        agent_end = await agent.wait(60)
        await recorder.send(b'{"type": "agent_gone"}\n')
        recorder_end = await recorder.wait(60)
        grader = await pod.start(Role.GRADER, ProcessSpec(("grade",), stdin=b'{"nonce": "n1"}'))
        return {
            "frames": await frames_of(recorder),
            "agent": agent_end,
            "recorder": recorder_end,
            "grade": await frames_of(grader),
        }


def run(trial: ScriptedTrial, **options: Any) -> dict[str, Any]:
    async def main() -> dict[str, Any]:
        with anyio.fail_after(60):
            return await choreography(trial, **options)

    return anyio.run(main)


def test_a_trial_in_which_nothing_happens_goes_well() -> None:
    seen = run(ScriptedTrial())
    assert [frame["type"] for frame in seen["frames"]] == ["ready", "status", "status", "final_state", "end"]
    assert seen["frames"][1]["status"] == "started"
    assert seen["frames"][2] == {"type": "status", "status": "ended", "code": 0, "oom_kills": 0}
    assert seen["frames"][-1] == {"type": "end", "count": 0}
    assert seen["grade"] == [{"type": "grade", "nonce": "n1", "success": True}]
    assert (seen["agent"].code, seen["recorder"].code) == (0, 0)


def test_events_come_between_the_agent_s_start_and_its_end() -> None:
    trial = ScriptedTrial(
        events=[{"kind": "tool_start", "tool": "t"}],
        frames=[{"type": "latched", "budget": "max_tool_calls"}],
        agent=(Die(9),),
        final_state={"a": 1},
        grade=False,
    )
    seen = run(trial)
    assert [frame["type"] for frame in seen["frames"]] == [
        "ready", "status", "event", "latched", "status", "final_state", "end",
    ]  # fmt: skip
    assert seen["frames"][2]["event"] == {"at_s": 0.0, "kind": "tool_start", "tool": "t"}
    assert seen["frames"][4] == {"type": "status", "status": "ended", "signal": 9, "oom_kills": 0}
    assert seen["frames"][5]["state"] == {"a": 1}
    assert seen["frames"][6]["count"] == 1
    assert seen["grade"][0]["success"] is False


def test_a_python_worker_says_that_it_is_ready() -> None:
    seen = run(ScriptedTrial(), agent_argv=("python3", "launch.py", "worker"))
    statuses = [frame["status"] for frame in seen["frames"] if frame["type"] == "status"]
    assert statuses == ["started", "worker_ready", "ended"]


def test_a_count_that_lies_and_a_grade_that_is_an_error() -> None:
    seen = run(ScriptedTrial(count=7, grade={"kind": "crash", "message": "m"}, statuses=[]))
    assert seen["frames"][-1]["count"] == 7
    assert seen["grade"][0]["error"] == {"kind": "crash", "message": "m"}


def test_a_setup_trouble_is_the_answer_to_begin() -> None:
    trouble = {"type": "trouble", "blame": "environment", "phase": "setup", "detail": "d", "stderr": ""}
    assert run(ScriptedTrial(ready=trouble))["frames"][0] == trouble


@pytest.mark.parametrize(
    ("point", "last"), [("begin", None), ("ready", "ready"), ("events", "event"), ("final_state", "final_state")]
)
def test_a_recorder_can_end_at_any_point(point: str, last: str | None) -> None:
    async def main() -> None:
        async with pod_of(FakeIsolation(ScriptedTrial(quits_after=point, quit_code=4, events=[{"kind": "k"}]))) as pod:
            recorder = await pod.start(Role.BOUNDARY, ARGV)
            await recorder.send(b'{"type": "begin"}\n')
            await pod.start(Role.AGENT, ARGV)
            if point == "final_state":
                await recorder.send(b'{"type": "agent_gone"}\n')
            end = await recorder.wait(60)
            assert end is not None
            assert (end.code, end.killed_by_us) == (4, False)
            frames = [frame["type"] for frame in await frames_of(recorder)]
            assert (frames or [None])[-1] == last

    anyio.run(main)


def test_a_recorder_that_never_answers_is_ended_by_leaving_the_pod() -> None:
    async def main() -> None:
        async with pod_of(FakeIsolation(ScriptedTrial(ready=None))) as pod:
            recorder = await pod.start(Role.BOUNDARY, ARGV)
            await recorder.send(b'{"type": "begin"}\n')
            assert await recorder.wait(0.01) is None
        end = await recorder.wait(0)
        assert end is not None
        assert end.killed_by_us

    anyio.run(main)


def breaking(**faults: Any) -> Callable[[TrialPlan, Role], FakeFaults]:
    return lambda plan, role: FakeFaults(**faults) if role is Role.AGENT else FakeFaults()


async def use_everything(isolation: FakeIsolation) -> None:
    async with pod_of(isolation) as pod:
        guest = await pod.start(Role.AGENT, ARGV)
        await guest.wait(0.01)
        await guest.stop(0)
        await pod.get(Role.AGENT, ".", 1 << 20)


@pytest.mark.parametrize("name", ["start", "wait", "stop", "get"])
def test_any_operation_breaks_on_request_and_leaves_nothing(name: str) -> None:
    faults = breaking(**{name: EngineError("engine", f"{name} failed")})
    isolation = FakeIsolation(lambda plan, role: (WriteFile("f", b""), Sleep(600)), faults=faults)
    with pytest.raises(EngineError, match=f"engine: {name} failed"):
        anyio.run(use_everything, isolation)
    assert isolation._live == []


def test_output_that_never_closes_gives_its_bytes_first() -> None:
    async def main() -> list[Chunk]:
        isolation = FakeIsolation(lambda plan, role: (Print(b"x"),), faults=breaking(output_never_closes=True))
        chunks = []
        async with pod_of(isolation) as pod:
            guest = await pod.start(Role.AGENT, ARGV)
            assert await guest.wait(60) is not None
            output = guest.output()
            chunks.append(await anext(output))
            with anyio.move_on_after(0.01) as scope:
                chunks += [chunk async for chunk in output]
            assert scope.cancelled_caught
        return chunks

    assert anyio.run(main) == [Chunk("stdout", b"x")]


def test_a_guest_can_be_a_function_over_its_pipes() -> None:
    async def guest_program(pipes: GuestPipes) -> int:
        first = await pipes.read_line()
        rest = await pipes.read_frame()
        pipes.write(first.upper())
        pipes.write(f"{pipes.role} {pipes.process.env['A']} {rest}".encode(), "stderr")
        return 3

    async def main() -> None:
        async with pod_of(FakeIsolation(lambda plan, role: guest_program)) as pod:
            guest = await pod.start(Role.BOUNDARY, ProcessSpec(("x",), env={"A": "1"}))
            await guest.send(b"hel")
            await guest.send(b'lo\n{"k": 1}\nmore')
            chunks = [chunk async for chunk in guest.output()]
            assert chunks == [Chunk("stdout", b"HELLO\n"), Chunk("stderr", b"boundary 1 {'k': 1}")]
            end = await guest.wait(0)
            assert end is not None
            assert end.code == 3

    anyio.run(main)


def test_speed_makes_minutes_pass_in_milliseconds() -> None:
    def script(plan: TrialPlan, role: Role) -> Any:
        return (Sleep(60 if role is Role.AGENT else 1_000_000_000), Exit(5))

    async def main() -> None:
        async with pod_of(FakeIsolation(script, speed=10_000)) as pod:
            assert await (await pod.start(Role.GRADER, ARGV)).wait(60) is None
            end = await (await pod.start(Role.AGENT, ARGV)).wait(600_000)
            assert end is not None
            assert end.code == 5

    anyio.run(main)


def test_files_of_a_scripted_agent_are_fetched_and_starts_are_listed() -> None:
    isolation = FakeIsolation(ScriptedTrial(agent=(WriteFile("out/report", b"r"),)))

    async def main() -> bytes:
        async with pod_of(isolation) as pod:
            recorder = await pod.start(Role.BOUNDARY, ARGV)
            await recorder.send(b'{"type": "begin"}\n')
            await (await pod.start(Role.AGENT, ARGV)).wait(60)
            return await pod.get(Role.AGENT, "out", 1 << 20)

    with tarfile.open(fileobj=io.BytesIO(anyio.run(main))) as tar:
        assert tar.getnames() == ["out/report"]
    assert [(started.plan, started.role) for started in isolation.started] == [
        (PLAN, Role.BOUNDARY),
        (PLAN, Role.AGENT),
    ]


def test_a_mistake_in_a_test_s_own_guest_is_not_hidden() -> None:
    async def wrong(pipes: GuestPipes) -> int:
        raise LookupError("mistake of the test")

    async def main() -> None:
        async with pod_of(FakeIsolation(lambda plan, role: wrong)) as pod:
            await (await pod.start(Role.AGENT, ARGV)).wait(60)

    with pytest.raises(LookupError, match="mistake of the test"):
        anyio.run(main)


def server(name: str, argv: tuple[str, ...] = ("serve",)) -> ProcessSpec:
    return ProcessSpec(argv, serve=(name, f"token-{name}"))


async def served_choreography(trial: ScriptedTrial) -> tuple[list[dict[str, Any]], list[Any]]:
    """The recorder's frames, and how two servers ended, told after `agent_gone`."""
    async with pod_of(FakeIsolation(trial)) as pod:
        recorder = await pod.start(Role.BOUNDARY, ARGV)
        servers = [await pod.start(Role.ENVIRONMENT, server(name)) for name in ("shop", "bank")]
        await recorder.send(b'{"type": "begin"}\n{"type": "agent_gone"}\n')
        await recorder.wait(60)
        return await frames_of(recorder), [await guest.wait(60) for guest in servers]


def test_a_scripted_trial_s_servers_live_until_the_recorder_stops_them() -> None:
    frames, ends = anyio.run(served_choreography, ScriptedTrial())
    assert [frame["type"] for frame in frames] == ["ready", "final_state", "end"]
    assert frames[0]["listening"][0] == "unix:/arci/socket"
    assert [end.code for end in ends] == [0, 0]


def test_a_scripted_server_is_told_apart_by_its_name() -> None:
    async def serve(pipes: GuestPipes) -> int:
        return {"shop": 3, "bank": 4}[pipes.server]

    _, ends = anyio.run(served_choreography, ScriptedTrial(environment=serve))
    assert [end.code for end in ends] == [3, 4]


def test_a_scripted_server_that_dies_is_told_with_what_it_wrote() -> None:
    async def main() -> None:
        trial = ScriptedTrial(environment=(Print(b"no such table", "stderr"), Die(11)))
        async with pod_of(FakeIsolation(trial)) as pod:
            guest = await pod.start(Role.ENVIRONMENT, server("shop"))
            end = await guest.wait(60)
            assert end is not None
            assert end.signal == 11
            assert [chunk.data async for chunk in guest.output()] == [b"no such table"]

    anyio.run(main)


def test_files_of_all_servers_and_of_the_boundary_are_in_the_environments_directory() -> None:
    def script(plan: TrialPlan, role: Role) -> Any:
        return (
            (WriteFile("db", b"1"),) if role is Role.ENVIRONMENT else (WriteFile("/arci/environment/work/own/f", b""),)
        )

    async def main() -> list[str]:
        async with pod_of(FakeIsolation(script)) as pod:
            process = ProcessSpec(("x",), serve=("bank", "t"), files={"/arci/environment/work/bank/given": b"2"})
            guests = [
                await pod.start(Role.BOUNDARY, ARGV),
                await pod.start(Role.ENVIRONMENT, server("shop")),
                await pod.start(Role.ENVIRONMENT, process),
            ]
            for guest in guests:
                await guest.wait(60)
            archive = await pod.get(Role.ENVIRONMENT, ".", 1 << 20)
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                return tar.getnames()

    assert anyio.run(main) == ["bank/db", "bank/given", "own/f", "shop/db"]


def test_a_server_without_a_name_and_a_name_without_a_server_are_refused() -> None:
    async def main() -> None:
        async with pod_of(FakeIsolation(ScriptedTrial())) as pod:
            for role, process in ((Role.ENVIRONMENT, ARGV), (Role.AGENT, server("shop"))):
                with pytest.raises(EngineError, match="`serve`"):
                    await pod.start(role, process)

    anyio.run(main)
