"""How guests end and what of it is told: exit codes, the kernel's kills, output to the last byte."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from pods import KEEP, LIMIT_S, Said, ended, heard, plan, python, runtime_image, trial, within

from arci.isolation.base import ProcessSpec, RunPlan
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.pod import DockerPod
from arci.isolation.docker.slots import DockerSlots
from arci.model.trial import Role

TOKEN = "t0k3n"
STATUS = """
import os, socket, sys
at = sys.argv[1].partition(":")[2]
listener = socket.socket(socket.AF_UNIX)
listener.bind(at)
os.chmod(at, 0o777)
listener.listen()
print("listening", flush=True)
connection, _ = listener.accept()
for line in connection.makefile():
    print(line, end="", flush=True)
print("closed", flush=True)
sys.stdin.read()
"""
ALLOCATE = "held = [b'x' * (1 << 20) + bytes([n % 256]) for n in range(300)]"


@pytest.fixture(scope="module")
def isolation(engine: Engine) -> DockerIsolation:
    return DockerIsolation(engine)


@pytest.fixture(scope="module")
def run(engine: Engine) -> RunPlan:
    return plan(runtime_image(engine))


@asynccontextmanager
async def listening(slots: DockerSlots) -> AsyncIterator[tuple[DockerPod, DockerGuest]]:
    """A pod with a boundary that prints what `arci-init` tells it."""
    async with slots.pod(trial()) as pod:
        argv = python(STATUS).argv
        boundary = await pod.start(Role.BOUNDARY, ProcessSpec((*argv, pod.listen)))
        await heard(boundary, b"listening\n")
        yield pod, boundary


async def reported(isolation: DockerIsolation, run: RunPlan, code: str) -> tuple[Said, list[str]]:
    """How an agent ended that runs `code`, and what the boundary was told of it, but for its peak of memory."""
    async with isolation.open(run) as slots, listening(slots) as (pod, boundary):
        said = await ended(await pod.start(Role.AGENT, python(code, status_token=TOKEN)))
        told = (await heard(boundary, b"closed\n")).decode().splitlines()
        return said, [line.partition(" peak=")[0] for line in told]


def test_a_child_that_is_killed_for_memory_is_told_and_the_agent_goes_on(
    isolation: DockerIsolation, run: RunPlan
) -> None:
    """N15: the engine's flag may say the same of a main process that lived; `arci-init` tells them apart."""
    code = f"""
import os
child = os.fork()
if not child:
    {ALLOCATE}
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""

    async def main() -> None:
        said, told = await reported(isolation, run, code)
        assert (said.exit.code, said.stdout) == (0, b"9\n"), said
        assert told == [f"ARCI status {TOKEN}", "started", "ended exit 0 oom=1", "closed"]

    within(main)


def test_an_agent_that_is_killed_for_memory_ends_by_signal_9_with_the_reason(
    isolation: DockerIsolation, run: RunPlan
) -> None:
    """N15, N16: `137` alone would not tell it from a kill."""

    async def main() -> None:
        said, told = await reported(isolation, run, ALLOCATE)
        assert (said.exit.code, said.exit.killed_by_us) == (137, False)
        assert told[-2] == "ended signal 9 oom=1"

    within(main)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("raise SystemExit(137)", "ended exit 137 oom=0"),
        ("import os; os.kill(os.getpid(), 9)", "ended signal 9 oom=0"),
    ],
)
def test_137_by_choice_is_told_from_a_kill(isolation: DockerIsolation, run: RunPlan, code: str, line: str) -> None:
    """N16: both are 137 to the engine."""

    async def main() -> None:
        said, told = await reported(isolation, run, code)
        assert said.exit.code == 137
        assert said.exit.killed_by_us is False
        assert told[-2] == line

    within(main)


def test_our_kill_is_told_as_ours(isolation: DockerIsolation, run: RunPlan) -> None:
    """N11: and it waits for no grace."""

    async def main() -> None:
        async with isolation.open(run) as slots, listening(slots) as (pod, boundary):
            agent = await pod.start(Role.AGENT, python("import time; time.sleep(600)", status_token=TOKEN))
            await heard(boundary, b"started\n")
            end = await agent.stop(0)
            assert (end.code, end.killed_by_us) == (137, True)
            assert (await heard(boundary, b"closed\n")) == b"closed\n"

    within(main)


def test_a_program_that_is_not_there_is_the_agents_own_fault(isolation: DockerIsolation, run: RunPlan) -> None:
    """The container starts all the same; the errno of exec is told to the boundary."""

    async def main() -> None:
        async with isolation.open(run) as slots, listening(slots) as (pod, boundary):
            said = await ended(await pod.start(Role.AGENT, ProcessSpec(("no-such-program",), status_token=TOKEN)))
            assert (said.exit.code, said.exit.started) == (127, True)
            assert b"exec-failed 2\n" in await heard(boundary, b"closed\n")

    within(main)


def test_processes_are_limited_and_dead_ones_do_not_count(isolation: DockerIsolation, run: RunPlan) -> None:
    """N12: 300 double-forked children are reaped under a limit of 128; 300 at once are refused."""
    code = """
import os, time
for _ in range(300):
    child = os.fork()
    if not child:
        if not os.fork():
            os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
living = 0
try:
    while living < 300:
        if not os.fork():
            time.sleep(600)
        living += 1
except OSError as error:
    print(living, error.errno)
"""

    async def main() -> None:
        async with isolation.open(run) as slots, slots.pod(trial()) as pod:
            said = await ended(await pod.start(Role.AGENT, python(code)))
            living, number = map(int, said.stdout.split())
            assert 50 < living < run.manifest.isolation.pids
            assert number == 11  # EAGAIN

    within(main)


@pytest.mark.timeout(300)
def test_output_of_a_guest_that_ends_at_once_is_never_lost(isolation: DockerIsolation, run: RunPlan) -> None:
    """N18, N23, N24: one byte, and 1 MiB, with the exit code, every time; two workers at once."""
    body = hashlib.sha256(bytes(range(256)) * 4096).digest()
    one_byte = python("import os; os.write(1, b'x'); os._exit(7)")
    mebibyte = python(
        "import sys, os; sys.stdout.buffer.write(bytes(range(256)) * 4096); sys.stdout.flush(); os._exit(8)"
    )

    async def worker(slots: DockerSlots, arm: str) -> None:
        for number in range(10):
            async with slots.pod(trial(arm, number)) as pod:
                said = await ended(await pod.start(Role.AGENT, one_byte))
                assert (said.stdout, said.stderr, said.exit.code) == (b"x", b"", 7)
                said = await ended(await pod.start(Role.GRADER, mebibyte))
                assert (hashlib.sha256(said.stdout).digest(), said.exit.code) == (body, 8)

    async def main() -> None:
        async with isolation.open(run) as slots, anyio.create_task_group() as tasks:
            tasks.start_soon(worker, slots, "baseline")
            tasks.start_soon(worker, slots, "candidate")

    within(main, 4 * LIMIT_S)


def test_a_background_child_that_holds_the_streams_does_not_hold_up_the_end(
    isolation: DockerIsolation, run: RunPlan
) -> None:
    """N14: it ends with the agent, whose result is whole."""
    code = "import os, time; os.fork() or time.sleep(600); print('result', flush=True); os._exit(0)"

    async def main() -> None:
        async with isolation.open(run) as slots, slots.pod(trial()) as pod:
            said = await ended(await pod.start(Role.AGENT, python(code)))
            assert (said.stdout, said.exit.code) == (b"result\n", 0)

    within(main)


def test_a_grader_reads_its_stdin_to_the_end(isolation: DockerIsolation, run: RunPlan) -> None:
    """N28: megabytes of it; and the boundary, too, where it is given some."""
    process = python("import sys; print(len(sys.stdin.buffer.read()))", stdin=bytes(3_000_000))

    async def main() -> None:
        async with isolation.open(run) as slots, slots.pod(trial()) as pod:
            for role in (Role.GRADER, Role.BOUNDARY):
                said = await ended(await pod.start(role, process))
                assert (said.stdout, said.exit.code) == (b"3000000\n", 0), role

    within(main)


def test_a_boundary_ends_with_its_pod_and_takes_the_agent_along(isolation: DockerIsolation, run: RunPlan) -> None:
    async def main() -> None:
        async with isolation.open(run) as slots:
            async with slots.pod(trial()) as pod:
                guests = [
                    await pod.start(Role.BOUNDARY, KEEP),
                    await pod.start(Role.AGENT, python("import time; time.sleep(600)")),
                ]
            for guest in guests:
                end = await guest.wait(0)
                assert end is not None
                assert end.killed_by_us

    within(main)
