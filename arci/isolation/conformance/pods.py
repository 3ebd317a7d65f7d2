"""Checks: what guests of one pod share, and that pods share nothing."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import replace

import anyio

from arci.isolation.base import ProcessSpec
from arci.isolation.conformance.bench import TOKEN, Bench, ConformanceFailure, require, watched
from arci.isolation.conformance.check import Check, check
from arci.isolation.script import Environment, Exit, Hold, Print, ReadFile, Sleep, WriteFile
from arci.model.trial import Role

__all__ = ["CHECKS"]

MARK = "ARCI_CONFORMANCE_MARK"


@check("a guest's environment has what it was given, and nothing of the host's")
async def environment_is_clean(bench: Bench) -> None:
    given = {"ARCI_GIVEN": "1 = ü\n'$HOME\"", "ARCI_EMPTY": ""}
    os.environ[MARK] = "leaked"
    try:
        for role in (Role.AGENT, Role.GRADER, Role.BOUNDARY):
            async with bench.pod() as pod:
                ran = await bench.ran(pod, role, (Environment(),), env=given)
            seen = json.loads(ran.stdout)
            require({name: seen.get(name) for name in given} == given, f"{role}: of {given} it sees {seen}")
            require(MARK not in seen, f"{role}: a variable of the host's is in its environment")
    finally:
        del os.environ[MARK]


@check("the environment given wins over the place's own")
async def environment_given_wins(bench: Bench) -> None:
    async with bench.pod() as pod:
        ran = await bench.ran(pod, Role.AGENT, (Environment(),), env={"LANG": "xx"})
        require(json.loads(ran.stdout).get("LANG") == "xx", f"LANG=xx was given, seen {ran.stdout!r}")


@check("what the boundary listens on is what the agent dials; a connection closes with its guest")
async def agent_reaches_boundary(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        ran = await bench.ran(pod, Role.AGENT, (Hold(pod.dial, "agent"), Exit(0)))
        require((ran.stdout, ran.exit.code) == (b"held agent\n", 0), f"{ran.stdout!r}, {ran.stderr[-300:]!r}")
        await boundary.until(b"closed agent\n")
        require(boundary.stdout == b"listening\nopen agent\nclosed agent\n", f"boundary: {boundary.stdout!r}")


@check("an agent with a status token is announced to the boundary, with how its process started and ended")
async def status_is_reported(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        await bench.ran(pod, Role.AGENT, (Exit(7),), status_token=TOKEN)
        await boundary.until(b"closed ARCI status t0k3n\n")
        for line in (b"open ARCI status t0k3n\n", b"heard started\n", b"heard ended exit 7 oom="):
            require(line in boundary.stdout, f"{line!r} was due; the boundary heard {boundary.stdout!r}")


@check("an agent with a status token dies with its boundary")
async def agent_dies_with_boundary(bench: Bench) -> None:
    script = (Print(b"up\n"), Sleep(600))
    async with (
        bench.pod() as pod,
        bench.listening(pod) as boundary,
        bench.watching(pod, Role.AGENT, script, status_token=TOKEN) as agent,
    ):
        await agent.until(b"up\n")
        await boundary.guest.stop(0)
        ran = await agent.end()
        require(ran.exit.code != 0, f"its boundary is gone, told was {ran.exit}")


@check("pods of both arms at once do not collide (N8)")
async def both_arms_at_once(bench: Bench) -> None:
    run = replace(bench.run, run_id=str(uuid.uuid4()), workers=max(2, bench.run.workers))
    heard: dict[str, bytes] = {}
    async with bench.isolation.open(run) as slots:
        both = replace(bench, slots=slots)
        ready = {arm: anyio.Event() for arm in ("baseline", "candidate")}

        async def trial(arm: str, other: str) -> None:
            async with both.pod(arm) as pod, both.listening(pod) as boundary:
                ready[arm].set()
                await ready[other].wait()  # now both listen
                script = (WriteFile("mine", arm.encode()), Hold(pod.dial, arm), Exit(0))
                require((await both.ran(pod, Role.AGENT, script)).exit.code == 0, f"the agent of {arm} broke")
                await boundary.until(f"closed {arm}\n".encode())
                heard[arm] = boundary.stdout

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(trial, "baseline", "candidate")
                tasks.start_soon(trial, "candidate", "baseline")
    for arm, lines in heard.items():
        require(lines == f"listening\nopen {arm}\nclosed {arm}\n".encode(), f"the boundary of {arm} heard {lines!r}")


@check("many pods one after another each get their own address")
async def pods_in_turn(bench: Bench) -> None:
    for turn in range(3):
        async with bench.pod() as pod, bench.listening(pod):
            ran = await bench.ran(pod, Role.AGENT, (Hold(pod.dial, f"turn-{turn}"),))
            require(ran.stdout == f"held turn-{turn}\n".encode(), f"{ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("ARCI's own guests are started by the argv that the pod gives, and workdirs are absolute paths")
async def pod_tells_places(bench: Bench) -> None:
    async with bench.pod() as pod:
        argv = pod.python(Role.AGENT, "worker", "--ref", "a:b")
        require(argv[1:3] == ("-I", "-S") and argv[4:7] == ("worker", "--ref", "a:b"), f"python() gave {argv}")
        require(argv[3].endswith("arci/guest/launch.py"), f"python() starts {argv[3]}")
        for role in Role:
            for place in (pod.workdir(role), pod.scratch(role)):
                require(place.startswith("/"), f"a place of {role} is {place!r}")
        scratch, workdir = pod.scratch(Role.AGENT), pod.workdir(Role.AGENT)
        require(not f"{scratch}/".startswith(f"{workdir}/"), f"scratch {scratch} lies in the workdir {workdir}")
        dials_tcp = pod.dial.startswith("tcp:127.0.0.1:")
        require(dials_tcp is (pod.listen_http is None), f"dial {pod.dial!r}, listen_http {pod.listen_http!r}")


@check("the agent's TMPDIR is its scratch directory, and it can write there")
async def scratch_is_the_tmpdir(bench: Bench) -> None:
    async with bench.pod() as pod:
        path = f"{pod.scratch(Role.AGENT)}/note"
        ran = await bench.ran(pod, Role.AGENT, (WriteFile("$TMPDIR/note", b"by variable"), ReadFile(path)))
        require(ran.stdout == b"by variable", f"{ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("the shim in the agent's place connects its stdin and stdout with the boundary, and ends when both have")
async def shim_reaches_boundary(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        if pod.shim is None:
            raise ConformanceFailure("there is no shim for this machine")
        argv = (pod.shim, "stdio", pod.dial, TOKEN, "shop")
        async with watched(await pod.start(Role.AGENT, ProcessSpec(argv))) as shim:
            ran = await shim.end()
        await boundary.until(b"closed ARCI mcp t0k3n shop\n")
        # A `Listen` answers with the line that it was greeted with.
        require((ran.exit.code, ran.stdout) == (0, b"ARCI mcp t0k3n shop\n"), f"{ran.exit}, {ran.stdout!r}")


CHECKS: tuple[Check, ...] = (
    environment_is_clean,
    environment_given_wins,
    agent_reaches_boundary,
    status_is_reported,
    agent_dies_with_boundary,
    both_arms_at_once,
    pods_in_turn,
    pod_tells_places,
    scratch_is_the_tmpdir,
    shim_reaches_boundary,
)
