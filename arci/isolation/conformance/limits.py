"""Checks of what a back end claims to enforce; each applies only where the capability is claimed."""

from __future__ import annotations

from arci.isolation.base import Capability
from arci.isolation.conformance.bench import Bench, require
from arci.isolation.conformance.check import Check, check
from arci.isolation.conformance.sources import (
    DIAL_LOOPBACK,
    INTERFACES,
    REACH_OUT,
    SECRETS_OF_THE_HOST,
    SERVE_LOOPBACK,
    WRITE_ROOT,
    source,
)
from arci.isolation.script import Echo, Print
from arci.model.trial import Role

__all__ = ["CHECKS"]

_ALLOCATE = """
held = []
for _ in range(MEBIBYTES):
    held.append(bytearray(b"x" * (1 << 20)))
put("allocated")
"""

_FORK = """
import os, signal, time
made = []
try:
    while len(made) < MOST:
        child = os.fork()
        if not child:
            time.sleep(600)
            os._exit(0)
        made.append(child)
except OSError:
    pass
put("%d" % len(made))
"""

_FILL = """
import os
written = 0
try:
    with open(os.path.join(os.environ["ARCI_WORKDIR"], PLACE), "wb", 0) as file:
        while written < MOST:
            written += file.write(bytes(1 << 20))
except OSError:
    pass
put("%d" % written)
"""


@check("the only interface an agent sees is lo", needs=Capability.ISOLATES_NETWORK)
async def only_loopback(bench: Bench) -> None:
    for role in (Role.AGENT, Role.GRADER, Role.BOUNDARY):
        ran = await bench.once(source(INTERFACES), role=role)
        require(ran.stdout == b"lo", f"{role} sees {ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("no guest resolves a name or reaches an address outside", needs=Capability.ISOLATES_NETWORK)
async def no_way_out(bench: Bench) -> None:
    for role in (Role.AGENT, Role.GRADER, Role.BOUNDARY):
        ran = await bench.once(source(REACH_OUT), role=role)
        require(ran.stdout == b"done", f"{role}: {ran.stdout!r}, {ran.stderr[-300:]!r}")


@check(
    "a port that the trusted side opens on loopback cannot be dialled by the agent", needs=Capability.ISOLATES_NETWORK
)
async def trusted_loopback_is_apart(bench: Bench) -> None:
    server = (*source(SERVE_LOOPBACK), Echo())
    async with bench.pod() as pod, bench.watching(pod, Role.BOUNDARY, server) as boundary:
        await boundary.until(b"\n")
        port = int(boundary.stdout.split()[1])
        ran = await bench.ran(pod, Role.AGENT, source(DIAL_LOOPBACK, PORT=port))
        require(ran.stdout == b"refused", f"the agent: {ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("the agent has no engine's socket, no capability, no new privileges", needs=Capability.ISOLATES_FILES)
async def agent_has_no_power(bench: Bench) -> None:
    ran = await bench.once(source(SECRETS_OF_THE_HOST))
    require(ran.stdout == b"done", f"the agent has {ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("the agent's root is read-only", needs=Capability.ISOLATES_FILES)
async def root_is_read_only(bench: Bench) -> None:
    require(bench.run.manifest.isolation.read_only, "the plan under test opts out of a read-only root")
    ran = await bench.once(source(WRITE_ROOT))
    require(ran.stdout == b"done", f"the agent wrote {ran.stdout!r}, {ran.stderr[-300:]!r}")


@check("an agent that takes more memory than its limit is killed", needs=Capability.LIMITS_MEMORY)
async def memory_is_limited(bench: Bench) -> None:
    most = 2 * (bench.run.manifest.isolation.memory_bytes >> 20) + 1
    ran = await bench.once(source(_ALLOCATE, MEBIBYTES=most))
    require(b"allocated" not in ran.stdout, f"it got {most} MiB: {ran.exit}")
    require(ran.exit.code not in (0, None) and not ran.exit.killed_by_us, f"the kernel killed it, told was {ran.exit}")


@check("an agent cannot have more processes than its limit", needs=Capability.LIMITS_PIDS)
async def processes_are_limited(bench: Bench) -> None:
    limit = bench.run.manifest.isolation.pids
    ran = await bench.once(source(_FORK, MOST=limit + 50))
    require(0 < int(ran.stdout or b"0") <= limit, f"the limit is {limit}, it made {ran.stdout!r}: {ran.exit}")


@check("an agent cannot write more than its disk limit", needs=Capability.LIMITS_DISK)
async def disk_is_limited(bench: Bench) -> None:
    limit = bench.run.manifest.isolation.disk_bytes
    for place in ("filled", "/tmp/filled", "/dev/shm/filled"):
        ran = await bench.once(source(_FILL, PLACE=place, MOST=2 * limit))
        written = int(ran.stdout or b"-1")
        require(0 <= written <= limit, f"{place}: the limit is {limit} bytes, it wrote {written}: {ran.exit}")


@check("what one agent fills is empty again for the next", needs=Capability.LIMITS_DISK)
async def full_disk_is_not_inherited(bench: Bench) -> None:
    limit = bench.run.manifest.isolation.disk_bytes
    for _turn in range(2):
        ran = await bench.once((*source(_FILL, PLACE="filled", MOST=limit // 2), Print(b" whole")))
        require(ran.stdout.endswith(b" whole") and int(ran.stdout.split()[0]) >= limit // 2, f"it wrote {ran.stdout!r}")


CHECKS: tuple[Check, ...] = (
    only_loopback,
    no_way_out,
    trusted_loopback_is_apart,
    agent_has_no_power,
    root_is_read_only,
    memory_is_limited,
    processes_are_limited,
    disk_is_limited,
    full_disk_is_not_inherited,
)
