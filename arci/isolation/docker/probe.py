"""Find out what an engine really enforces: one container of ours reads its own limits and says them.

Limits may be accepted and then ignored (rootless engines on cgroup v1): what is not enforced is named.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import anyio

from arci.errors import EngineError
from arci.isolation.docker.containers import Containers
from arci.isolation.docker.spec import ImageFacts, container_config
from arci.model.manifest import Isolation

__all__ = ["Probe", "probe", "unenforced"]

_PROBE_S = 60.0
_SOURCE = """
import json, os, resource, sys
def first(*paths):
    for path in paths:
        try:
            with open(path) as f:
                return f.read().strip()
        except OSError:
            pass
    return None
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
disk = os.statvfs("/")
try:
    open("/arci-probe", "w").close()
    root = "writable"
except OSError:
    root = "read-only"
print(json.dumps({
    "memory": first("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    "pids": first("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
    "processes": resource.getrlimit(resource.RLIMIT_NPROC)[1],
    "caps": status["CapEff"].strip(),
    "no_new_privs": status.get("NoNewPrivs", "").strip(),
    "interfaces": sorted(os.listdir("/sys/class/net")),
    "root": root,
    "free_bytes": disk.f_bavail * disk.f_frsize,
}), flush=True)
sys.stdin.read()
"""
"""It lives until it is removed: to the sweep of another `arci`, a run whose only holder has ended is dead."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What the container saw. None where it could not tell."""

    memory_bytes: int | None
    pids: int | None
    files: int
    """Hard limit of open files that the engine gives a container by itself."""
    caps: int
    no_new_privileges: bool
    interfaces: tuple[str, ...]
    root_is_read_only: bool
    free_bytes: int
    """Room where the engine keeps containers."""
    processes: int = -1
    """Hard limit of processes of one user that the engine gives a container by itself; -1: none. `pids` is another."""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Probe:
        return cls(
            memory_bytes=_number(value["memory"]),
            pids=_number(value["pids"]),
            files=value["files"],
            caps=int(value["caps"], 16),
            no_new_privileges=value["no_new_privs"] == "1",
            interfaces=tuple(value["interfaces"]),
            root_is_read_only=value["root"] == "read-only",
            free_bytes=value["free_bytes"],
            processes=value["processes"],
        )


async def probe(containers: Containers, image: ImageFacts, limits: Isolation, labels: dict[str, str]) -> Probe:
    """Start it with a trial's own limits, but for open files, whose ceiling is asked for; and read its answer."""
    config = container_config(
        image,
        ["python3", "-I", "-S", "-c", _SOURCE],
        env={},
        labels=labels,
        network="none",
        limits=limits,
        files=None,
    )
    guest = await containers.launch(config)
    said = b""
    with anyio.move_on_after(_PROBE_S):
        async for chunk in guest.output():
            said += chunk.data
            if said.endswith(b"\n"):
                break
    await containers.remove((guest,), ())
    try:
        return Probe.from_json(json.loads(said))
    except (ValueError, KeyError, TypeError):
        raise EngineError("read a container's own limits", f"the probe said {said[-500:]!r}.") from None


def unenforced(seen: Probe, limits: Isolation) -> tuple[str, ...]:
    """What was asked for and is not so, one sentence each. Pure."""
    found = []
    if seen.memory_bytes is None or seen.memory_bytes > limits.memory_bytes:
        found.append(f"memory: {limits.memory_bytes} bytes asked for, {seen.memory_bytes} in force")
    if seen.pids is None or seen.pids > limits.pids:
        found.append(f"processes: {limits.pids} asked for, {seen.pids} in force")
    if seen.caps:
        found.append(f"capabilities: none asked for, {seen.caps:x} in force")
    if not seen.no_new_privileges:
        found.append("no new privileges: not in force")
    if set(seen.interfaces) - {"lo"}:
        found.append(f"network: loopback alone asked for, {', '.join(seen.interfaces)} present")
    if limits.read_only and not seen.root_is_read_only:
        found.append("read-only root: not in force")
    return tuple(found)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
