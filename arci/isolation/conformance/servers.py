"""Checks: a server is connected to the boundary and to nothing else, its files outlive it, and it outlives nothing."""

from __future__ import annotations

import io
import tarfile
import uuid
from dataclasses import replace

from arci.isolation.base import Capability
from arci.isolation.conformance.bench import TOKEN, Bench, require
from arci.isolation.conformance.check import Check, check
from arci.isolation.conformance.life import STUBBORN
from arci.isolation.conformance.plan import BANK, SHOP
from arci.isolation.conformance.sources import (
    DIAL_LOOPBACK,
    INTERFACES,
    SECRETS_OF_THE_HOST,
    SERVE_LOOPBACK,
    WRITE_ROOT,
    source,
)
from arci.isolation.script import Echo, Exit, ListDirectory, Print, ReadFile, Sleep, WriteFile, pattern
from arci.model.trial import Role

__all__ = ["CHECKS"]

HELLO = b"ARCI environment t0k3n shop"


@check("a server's stdout goes to the boundary under its name, its stderr to us; the connection closes with it")
async def server_is_served(bench: Bench) -> None:
    script = (Print(b"{}\n"), Print(b"log\n", "stderr"), Print(b"last\n"), Exit(3))
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        ran = await bench.ran(pod, Role.ENVIRONMENT, script)
        await boundary.until(b"closed " + HELLO)
        wanted = b"listening\nopen %b\nheard {}\nheard last\nclosed %b\n" % (HELLO, HELLO)
        require(boundary.stdout == wanted, f"the boundary heard {boundary.stdout!r}")
        require((ran.stdout, ran.stderr, ran.exit.code) == (b"", b"log\n", 3), f"told was {ran}")


@check(
    "what the boundary says is the server's stdin; half-closed by it, the server's stdin ends and its output goes on"
)
async def server_reads_its_boundary(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod, half_closes=True) as boundary:
        # A `Listen` answers with its greeting, and this server says it again.
        ran = await bench.ran(pod, Role.ENVIRONMENT, (Echo(), Print(b"the end\n"), Exit(4)))
        await boundary.until(b"heard %b\nheard the end\nclosed " % HELLO)
        require(ran.exit.code == 4, f"its stdin ended, and it with 4; told was {ran.exit}")


@check("a server is ended at once when its boundary is gone")
async def server_ends_with_its_boundary(bench: Bench) -> None:
    async with (
        bench.pod() as pod,
        bench.listening(pod) as boundary,
        bench.watching(pod, Role.ENVIRONMENT, STUBBORN) as server,
    ):
        await boundary.until(b"heard up\n")
        await boundary.guest.stop(0)
        ran = await server.end()
        require(ran.exit.code != 0, f"its boundary is gone, told was {ran.exit}")


@check("a server that heeds neither the end of its stdin nor SIGTERM is gone with its pod (N69)")
async def stubborn_server_ends_with_its_pod(bench: Bench) -> None:
    run = replace(bench.run, run_id=str(uuid.uuid4()))
    async with bench.isolation.open(run) as slots:
        async with replace(bench, slots=slots).pod() as pod, bench.listening(pod) as boundary:
            server = await bench.start(pod, Role.ENVIRONMENT, STUBBORN)
            await boundary.until(b"heard up\n")
        require(await server.wait(0) is not None, "the pod was left, and its server still runs")
    left = await bench.isolation.remains(run.run_id)
    require(not left.everything, f"left of the run: {', '.join(left.everything)}")


@check("files and directories are given to a server, too")
async def files_are_given_to_servers(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        home = f"{pod.workdir(Role.ENVIRONMENT)}/{SHOP}"
        files = {f"{home}/task.json": b"the task\n"}
        script = (ReadFile("task.json"), ListDirectory("out"), Print(b"listed\n"))
        await bench.ran(pod, Role.ENVIRONMENT, script, files=files, directories=(f"{home}/out",))
        await boundary.until(b"heard the task\nheard listed\n")


@check("what a server wrote in its directory outlives it and is fetched by its name")
async def server_files_outlive_it(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod):
        ran = await bench.ran(pod, Role.ENVIRONMENT, (WriteFile("deep/db", pattern(1000), times=100),))
        require(ran.exit.code == 0, f"the server broke: {ran}")
        archive = await pod.get(Role.ENVIRONMENT, SHOP, 1 << 20)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        file = tar.extractfile(f"{SHOP}/deep/db")
        require(file is not None and file.read() == pattern(1000) * 100, f"fetched were {tar.getnames()}")


@check("what a server has written is fetched while it lives, too: that is its state before the agent")
async def server_files_before_the_agent(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        script = (WriteFile("db", b"seed"), Print(b"written\n"), Sleep(600))
        await bench.start(pod, Role.ENVIRONMENT, script)
        await boundary.until(b"heard written\n")
        archive = await pod.get(Role.ENVIRONMENT, f"{SHOP}/db", 1 << 20)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        file = tar.extractfile("db")
        require(file is not None and file.read() == b"seed", f"fetched were {tar.getnames()}")


@check("every pod begins with empty directories for its servers")
async def server_directory_is_fresh(bench: Bench) -> None:
    for turn in range(2):
        async with bench.pod() as pod, bench.listening(pod) as boundary:
            script = (ListDirectory("."), WriteFile("left-behind", b"x"), Print(b"done\n"))
            await bench.ran(pod, Role.ENVIRONMENT, script)
            await boundary.until(b"heard done\n")
            require(b"left-behind" not in boundary.stdout, f"pod {turn + 1} began with {boundary.stdout!r}")


@check("several servers of one pod have connections of their own")
async def servers_side_by_side(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        for name in (SHOP, BANK):
            await bench.start(pod, Role.ENVIRONMENT, (Echo(),), server=name)
        for name in (SHOP, BANK):
            await boundary.until(f"heard ARCI environment {TOKEN} {name}".encode())


@check("a server's files are read by no agent, no grader and no other server", needs=Capability.ISOLATES_FILES)
async def server_files_are_apart(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        path = f"{pod.workdir(Role.ENVIRONMENT)}/{SHOP}/secret"
        await bench.start(pod, Role.ENVIRONMENT, (WriteFile(path, b"x"), Print(b"written\n"), Sleep(600)))
        await boundary.until(b"heard written\n")
        look = (ReadFile(path), Print(b" seen\n"))
        for role in (Role.AGENT, Role.GRADER):
            ran = await bench.ran(pod, role, look)
            require(ran.stdout == b"missing seen\n", f"{role} read {ran.stdout!r}")
        await bench.ran(pod, Role.ENVIRONMENT, look, server=BANK)
        await boundary.until(b" seen\n")
        require(b"heard missing seen\n" in boundary.stdout, f"another server read it: {boundary.stdout!r}")


@check("a port that a server opens on loopback cannot be dialled by the agent", needs=Capability.ISOLATES_NETWORK)
async def server_ports_are_apart(bench: Bench) -> None:
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        await bench.start(pod, Role.ENVIRONMENT, (*source(SERVE_LOOPBACK), Sleep(600)))
        await boundary.until(b"heard port ")
        await boundary.until(b"\n")
        port = int(boundary.stdout.partition(b"heard port ")[2].split()[0])
        ran = await bench.ran(pod, Role.AGENT, source(DIAL_LOOPBACK, PORT=port))
        require(ran.stdout == b"refused", f"the agent: {ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("a server has no network, no engine's socket, no capability, no writable root", needs=Capability.ISOLATES_FILES)
async def server_has_no_power(bench: Bench) -> None:
    programs = (*source(INTERFACES), Print(b"\n"), *source(SECRETS_OF_THE_HOST), Print(b"\n"), *source(WRITE_ROOT))
    async with bench.pod() as pod, bench.listening(pod) as boundary:
        await bench.ran(pod, Role.ENVIRONMENT, (*programs, Print(b"\n")))
        await boundary.until(b"closed ")
        require(b"heard lo\nheard done\nheard done\n" in boundary.stdout, f"it has {boundary.stdout!r}")


CHECKS: tuple[Check, ...] = (
    server_is_served,
    server_reads_its_boundary,
    server_ends_with_its_boundary,
    stubborn_server_ends_with_its_pod,
    files_are_given_to_servers,
    server_files_outlive_it,
    server_files_before_the_agent,
    server_directory_is_fresh,
    servers_side_by_side,
    server_files_are_apart,
    server_ports_are_apart,
    server_has_no_power,
)
