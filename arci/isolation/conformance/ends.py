"""Checks: how a guest ended arrives as it was."""

from __future__ import annotations

import anyio

from arci.isolation.base import ProcessSpec
from arci.isolation.conformance.bench import Bench, Ran, require, watched
from arci.isolation.conformance.check import Check, check
from arci.isolation.script import Die, Exit, Hold, Print, Script, Sleep, Spawn, WaitFor, WriteFile
from arci.model.trial import Role

__all__ = ["CHECKS"]


async def _ends_with(bench: Bench, script: Script, code: int) -> Ran:
    ran = await bench.once(script)
    require(ran.exit.code == code, f"the guest ended with {code}, told was {ran.exit}; stderr {ran.stderr[-300:]!r}")
    require(not ran.exit.killed_by_us, f"nobody killed it, told was {ran.exit}")
    require(ran.exit.started, f"it ran, told was {ran.exit}")
    return ran


@check("exit 0 is told as 0")
async def exit_zero_kept(bench: Bench) -> None:
    await _ends_with(bench, (Exit(0),), 0)


@check("other exit codes are told as they are")
async def exit_codes_kept(bench: Bench) -> None:
    for code in (1, 7, 255):
        await _ends_with(bench, (Exit(code),), code)


@check("a guest that chooses exit 137 was not killed (N16)")
async def chosen_137_is_no_kill(bench: Bench) -> None:
    ran = await _ends_with(bench, (Exit(137),), 137)
    require(ran.exit.oom_killed is not True, f"no memory was short, told was {ran.exit}")


@check("death by a signal is told, as the signal or as 128 + its number")
async def signal_death_kept(bench: Bench) -> None:
    for number in (9, 11, 15):
        ran = await bench.once((Die(number),))
        told = ran.exit.signal == number or ran.exit.code == 128 + number
        require(told and not ran.exit.killed_by_us, f"died by signal {number}, told was {ran.exit}")


async def _cannot_run(bench: Bench, program: str, code: int) -> None:
    async with bench.pod() as pod:
        async with watched(await pod.start(Role.AGENT, ProcessSpec((program,)))) as guest:
            ran = await guest.end()
        require(ran.exit.code == code, f"{program} cannot be executed ({code}), told was {ran.exit}")


@check("a program that does not exist ends with 127, never with 0 (N17)")
async def missing_program_fails(bench: Bench) -> None:
    await _cannot_run(bench, "/no/such/program", 127)


@check("a file that is no program ends with 126, never with 0 (N17)")
async def unexecutable_program_fails(bench: Bench) -> None:
    await _cannot_run(bench, "/etc/passwd", 126)


@check("a wait that times out says None, and the guest lives on")
async def wait_times_out(bench: Bench) -> None:
    async with bench.pod() as pod, watched(await bench.keep_boundary(pod)) as guest:
        require(await guest.guest.wait(0.05) is None, "a running guest was told as ended")
        require(await guest.guest.wait(0) is None, "a running guest was told as ended")
        await guest.guest.send(b"still here\n")
        await guest.until(b"still here\n")


@check("waiting again gives the same answer")
async def wait_again(bench: Bench) -> None:
    async with bench.pod() as pod, bench.watching(pod, Role.AGENT, (Exit(3),)) as guest:
        first = (await guest.end()).exit
        require(await guest.guest.wait(0) == first, f"first {first}, then {await guest.guest.wait(0)}")


@check("several waits at once all get the answer")
async def waits_at_once(bench: Bench) -> None:
    async with bench.pod() as pod:
        guest = await bench.start(pod, Role.AGENT, (Sleep(0.05), Exit(5)))
        answers = []

        async def wait() -> None:
            answers.append(await guest.wait(20))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(wait)
        require([a.code if a else None for a in answers] == [5, 5, 5], f"told was {answers}")


@check("the end of a guest is the end of every process below it, detached or not")
async def end_takes_the_tree(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        waits = (WaitFor("child"), WaitFor("detached"))
        script = (_held(pod.dial, "child"), _held(pod.dial, "detached", detached=True), *waits, Exit(4))
        ran = await bench.ran(pod, Role.AGENT, script)
        require(ran.exit.code == 4, f"it ended with 4, told was {ran.exit}")
        for name in (b"child", b"detached"):
            await boundary.until(b"closed " + name)


def _held(dial: str, name: str, *, detached: bool = False) -> Spawn:
    """A child that keeps a connection open for as long as it lives."""
    return Spawn((Hold(dial, name), WriteFile(name, b""), Sleep(600)), detached=detached)


@check("a background child that holds stdout does not delay the end (N14)")
async def background_child_holds_stdout(bench: Bench) -> None:
    ran = await bench.once((Spawn((Sleep(600),)), Spawn((Sleep(600),), detached=True), Print(b"result"), Exit(0)))
    require((ran.exit.code, ran.stdout) == (0, b"result"), f"told was {ran.exit} with {ran.stdout!r}")


CHECKS: tuple[Check, ...] = (
    exit_zero_kept,
    exit_codes_kept,
    chosen_137_is_no_kill,
    signal_death_kept,
    missing_program_fails,
    unexecutable_program_fails,
    wait_times_out,
    wait_again,
    waits_at_once,
    end_takes_the_tree,
    background_child_holds_stdout,
)
