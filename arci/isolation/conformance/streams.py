"""Checks: every byte arrives, on its own stream, in both directions."""

from __future__ import annotations

import hashlib
import json

import anyio

from arci.isolation.conformance.bench import PATIENCE_S, Bench, Ran, require, watched
from arci.isolation.conformance.check import Check, check
from arci.isolation.script import Echo, Exit, Pattern, Print, Sleep, Spawn, pattern
from arci.model.trial import Role

__all__ = ["CHECKS"]

MEBIBYTE = 1024 * 1024


def _same(seen: bytes, wanted: bytes, what: str) -> None:
    if seen != wanted:
        place = next(
            (i for i, (a, b) in enumerate(zip(seen, wanted, strict=False)) if a != b), min(map(len, (seen, wanted)))
        )
        require(False, f"{what}: {len(seen)} bytes of {len(wanted)}, first difference at {place}")


@check("stdout and stderr arrive apart")
async def streams_apart(bench: Bench) -> None:
    ran = await bench.once(
        (Print(b"out 1\n"), Print(b"err 1\n", "stderr"), Print(b"out 2\n"), Print(b"err 2", "stderr"))
    )
    _same(ran.stdout, b"out 1\nout 2\n", "stdout")
    _same(ran.stderr, b"err 1\nerr 2", "stderr")


@check("a character cut by a write, invalid UTF-8, NUL and a missing last newline arrive as they are (N22)")
async def odd_bytes_kept(bench: Bench) -> None:
    pieces = (b"\xf0\x9f", b"\x9a\x80\r\n\0\xff\xfe", b"\xe2\x80\xa8 no newline")
    script = (Print(pieces[0]), Print(b"err", "stderr"), Print(pieces[1]), Print(pieces[2]))
    ran = await bench.once(script)
    _same(ran.stdout, b"".join(pieces), "stdout")
    _same(ran.stderr, b"err", "stderr")


@check("a guest that prints one byte and ends at once: byte and exit code are there every time (N18, N24)")
async def one_byte_many_times(bench: Bench) -> None:
    for turn in range(bench.repeats):
        ran = await bench.once((Print(b"x"), Exit(7)))
        require((ran.stdout, ran.exit.code) == (b"x", 7), f"turn {turn}: {ran.stdout!r} and {ran.exit}")


@check("1 MiB printed just before the end arrives whole every time (N23)")
async def mebibyte_many_times(bench: Bench) -> None:
    wanted = hashlib.sha256(pattern(MEBIBYTE)).hexdigest()
    for turn in range(max(1, bench.repeats // 4)):
        ran = await bench.once((Pattern(MEBIBYTE),))
        seen = hashlib.sha256(ran.stdout).hexdigest()
        require(
            seen == wanted,
            f"turn {turn}: {len(ran.stdout)} bytes with SHA-256 {seen}, printed were 1 MiB with {wanted}",
        )


@check("1 MiB on stderr and stdout at once: neither waits for the other")
async def both_streams_full(bench: Bench) -> None:
    ran = await bench.once((Pattern(MEBIBYTE, "stderr"), Pattern(MEBIBYTE)))
    _same(ran.stderr, pattern(MEBIBYTE), "stderr")
    _same(ran.stdout, pattern(MEBIBYTE), "stdout")


@check("a line of 100 KiB arrives as one line (N25)")
async def long_line_whole(bench: Bench) -> None:
    ran = await bench.once((Print(b'{"text": "'), Print(b"x", times=100 * 1024), Print(b'"}\n'), Print(b"{}\n")))
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    require(lines == [{"text": "x" * 100 * 1024}, {}], f"two lines were printed; {len(lines)} other lines came")


@check("output of a guest that has ended is still there for who reads it late")
async def late_reader(bench: Bench) -> None:
    async with bench.pod() as pod:
        guest = await bench.start(pod, Role.AGENT, (Pattern(4096), Print(b"late", "stderr")))
        await guest.wait(20)
        async with watched(guest) as late:
            ran: Ran = await late.end()
        _same(ran.stdout, pattern(4096), "stdout")
        _same(ran.stderr, b"late", "stderr")


@check("stdin given beforehand is delivered whole, then ends (N28)")
async def stdin_then_end(bench: Bench) -> None:
    body = pattern(300_000)
    ran = await bench.once((Echo(), Print(b"done", "stderr")), role=Role.GRADER, stdin=body)
    _same(ran.stdout, body, "stdin as echoed")
    require((ran.stderr, ran.exit.code) == (b"done", 0), f"after the end of stdin: {ran.stderr!r} and {ran.exit}")


@check("an empty stdin ends at once (N28)")
async def empty_stdin_ends(bench: Bench) -> None:
    ran = await bench.once((Echo(), Print(b"done")), role=Role.GRADER, stdin=b"")
    require((ran.stdout, ran.exit.code) == (b"done", 0), f"{ran.stdout!r} and {ran.exit}")


@check("a guest that does not read its stdin ends all the same")
async def unread_stdin(bench: Bench) -> None:
    ran = await bench.once((Print(b"no thanks"), Exit(0)), role=Role.GRADER, stdin=pattern(MEBIBYTE))
    require((ran.stdout, ran.exit.code) == (b"no thanks", 0), f"{ran.stdout!r} and {ran.exit}")


@check("an agent without a stdin of its own reads the end of file")
async def agent_stdin_is_empty(bench: Bench) -> None:
    ran = await bench.once((Echo(), Print(b"end")))
    require(ran.stdout == b"end", f"{ran.stdout!r} and {ran.exit}")


@check("what is sent arrives, in order, while the guest runs")
async def send_is_echoed(bench: Bench) -> None:
    async with bench.pod() as pod, watched(await bench.keep_boundary(pod)) as guest:
        for turn in range(50):
            await guest.guest.send(b"%d\n" % turn)
        await guest.until(b"49\n")
        _same(guest.stdout, b"".join(b"%d\n" % turn for turn in range(50)), "echo")


@check("1 MiB is sent and comes back while both sides go on")
async def send_large(bench: Bench) -> None:
    body = pattern(MEBIBYTE)
    async with bench.pod() as pod, watched(await bench.keep_boundary(pod)) as guest:
        await guest.guest.send(body)
        await guest.guest.send(b"\nlast\n")
        await guest.until(b"\nlast\n")
        _same(guest.stdout, body + b"\nlast\n", "echo")


@check("sending to a guest that is gone is no error")
async def send_to_the_dead(bench: Bench) -> None:
    async with bench.pod() as pod, bench.watching(pod, Role.BOUNDARY, (Exit(2),)) as guest:
        require((await guest.end()).exit.code == 2, "the exit code changed")
        for _ in range(3):
            with anyio.move_on_after(PATIENCE_S) as scope:
                await guest.guest.send(b"anybody?\n" * 20_000)
            require(not scope.cancelled_caught, f"sending to a dead guest hung for {PATIENCE_S:g} s")
        require((await guest.end()).exit.code == 2, "the exit code changed by a send")


@check("guests of one pod that write at once do not mix")
async def parallel_guests(bench: Bench) -> None:
    seen: dict[Role, bytes] = {}
    async with bench.pod() as pod:

        async def run(role: Role, letter: bytes) -> None:
            ran = await bench.ran(pod, role, tuple(Print(letter, times=4096) for _ in range(50)))
            seen[role] = ran.stdout

        roles = {Role.BOUNDARY: b"b", Role.AGENT: b"a", Role.GRADER: b"g"}
        async with anyio.create_task_group() as tasks:
            for role, letter in roles.items():
                tasks.start_soon(run, role, letter)
        for role, letter in roles.items():
            _same(seen[role], letter * 4096 * 50, f"stdout of {role}")


@check("nothing is heard of a stopped guest's children: a verdict written after the deadline is none (N13)")
async def silence_after_stop(bench: Bench) -> None:
    late = Spawn((Print(b"alive\n"), Sleep(600), Print(b"pass\n")), detached=True)
    async with bench.pod() as pod, bench.watching(pod, Role.GRADER, (late, Sleep(600))) as guest:
        await guest.until(b"alive\n")
        await guest.guest.stop(0)
        ran = await guest.end()
        require(ran.stdout == b"alive\n", f"after the stop came {ran.stdout!r}")


CHECKS: tuple[Check, ...] = (
    streams_apart,
    odd_bytes_kept,
    one_byte_many_times,
    mebibyte_many_times,
    both_streams_full,
    long_line_whole,
    late_reader,
    stdin_then_end,
    empty_stdin_ends,
    unread_stdin,
    agent_stdin_is_empty,
    send_is_echoed,
    send_large,
    send_to_the_dead,
    parallel_guests,
    silence_after_stop,
)
