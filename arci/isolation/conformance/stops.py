"""Checks: a guest that is stopped is gone, whole and for good."""

from __future__ import annotations

from arci.isolation.base import Exit as End
from arci.isolation.conformance.bench import PATIENCE_S, Bench, require
from arci.isolation.conformance.check import Check, check
from arci.isolation.script import Exit, Hold, OnTerm, Orphans, Print, Script, Sleep, Spawn, WaitFor, WriteFile
from arci.model.trial import Role

__all__ = ["CHECKS"]


def _tree(dial: str) -> Script:
    """A guest, its child and its double-forked grandchild in another session, each with a connection held open."""
    child = Spawn((Hold(dial, "child"), WriteFile("child", b""), Sleep(600)))
    detached = Spawn(
        (Hold(dial, "detached"), WriteFile("detached", b""), OnTerm(()), Sleep(600)), detached=True, quiet=True
    )
    return (child, detached, WaitFor("child"), WaitFor("detached"), Hold(dial, "main"), Sleep(600))


async def _stops_tree(bench: Bench, grace_s: float) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        agent = await bench.start(pod, Role.AGENT, _tree(pod.dial))
        await boundary.until(b"open main\n")
        await agent.stop(grace_s)
        for name in (b"child", b"detached", b"main"):
            await boundary.until(b"closed " + name)


@check("stop at once ends the whole tree: children, and grandchildren that detached")
async def stop_kills_the_tree(bench: Bench) -> None:
    await _stops_tree(bench, 0)


@check("stop with a grace ends the whole tree too, also what ignores SIGTERM")
async def stop_with_grace_kills_the_tree(bench: Bench) -> None:
    await _stops_tree(bench, 1)


async def _stopped(bench: Bench, script: Script, grace_s: float, role: Role = Role.AGENT) -> tuple[End, bytes]:
    """How a guest that printed `up` and sleeps ended when it was stopped, and its whole stdout."""
    script = (*script, Print(b"up\n"), Sleep(600))
    async with bench.pod() as pod, bench.watching(pod, role, script) as guest:
        await guest.until(b"up\n")
        end = await guest.guest.stop(grace_s)
        require(end == await guest.guest.stop(0), "a second stop answers otherwise than the first")
        require(end == await guest.guest.wait(0), "wait answers otherwise than stop")
        return end, (await guest.end()).stdout


@check("a guest that we killed is marked so, and never ends with 0")
async def kill_is_marked(bench: Bench) -> None:
    for role in (Role.AGENT, Role.BOUNDARY, Role.GRADER):
        end, _ = await _stopped(bench, (), 0, role)
        require(end.killed_by_us and end.code != 0, f"{role} was killed by us, told was {end}")


@check("a kill of ours is not taken for want of memory (N11)")
async def kill_is_not_oom(bench: Bench) -> None:
    end, _ = await _stopped(bench, (), 0)
    require(end.oom_killed is not True, f"killed by us, told was {end}")


@check("SIGTERM reaches the guest, whose handler may finish within the grace")
async def grace_lets_the_handler_finish(bench: Bench) -> None:
    end, out = await _stopped(bench, (OnTerm((Print(b"bye\n"), Exit(3))),), PATIENCE_S)
    require((end.code, out) == (3, b"up\nbye\n"), f"the handler prints `bye` and ends with 3; seen {out!r} and {end}")


@check("a guest without a handler ends by SIGTERM at once and does not wait for the grace to pass (N11)")
async def term_needs_no_handler(bench: Bench) -> None:
    end, _ = await _stopped(bench, (), PATIENCE_S)  # after the grace it would be a kill
    require(end.signal == 15 or end.code == 143, f"ended by SIGTERM, told was {end}")


@check("a guest that ignores SIGTERM is killed when the grace is over")
async def grace_ends(bench: Bench) -> None:
    end, _ = await _stopped(bench, (OnTerm(()),), 0.1)
    require(end.killed_by_us and end.code != 0, f"killed by us after the grace, told was {end}")


@check("stopping a guest that has ended changes nothing of how it ended")
async def stop_after_the_end(bench: Bench) -> None:
    async with bench.pod() as pod:
        guest = await bench.start(pod, Role.AGENT, (Exit(137),))
        first = await guest.wait(PATIENCE_S)
        after = await guest.stop(0)
        require(
            after == first and after.code == 137 and not after.killed_by_us, f"first {first}, after the stop {after}"
        )


@check("300 short-lived orphans are reaped: they do not fill the process limit (N12)")
async def orphans_are_reaped(bench: Bench) -> None:
    ran = await bench.once((Orphans(300),))
    require((ran.exit.code, ran.stdout) == (0, b"made 300"), f"{ran.exit}, {ran.stdout!r}, {ran.stderr[-300:]!r}")


CHECKS: tuple[Check, ...] = (
    stop_kills_the_tree,
    stop_with_grace_kills_the_tree,
    kill_is_marked,
    kill_is_not_oom,
    grace_lets_the_handler_finish,
    term_needs_no_handler,
    grace_ends,
    stop_after_the_end,
    orphans_are_reaped,
)
