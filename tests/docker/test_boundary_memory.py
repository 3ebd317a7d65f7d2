"""What a hostile server and a crowd of hostile clients cost the boundary's container, and who is answered meanwhile."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

import anyio
import pytest
from pods import ended, plan, python, runtime_image, trial, until, within

from arci.isolation.base import Guest, ProcessSpec, RunPlan
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.labels import ROLE, RUN
from arci.isolation.docker.pod import DockerPod
from arci.model.trial import Role

MIB = 1 << 20
LIMIT_MIB = 256
CGROUP_1 = "/sys/fs/cgroup/memory/memory.max_usage_in_bytes /sys/fs/cgroup/memory/memory.oom_control"
CGROUP_2 = "/sys/fs/cgroup/memory.peak /sys/fs/cgroup/memory.events"
SERVER = """
import json, sys
out = sys.stdout.buffer
def say(id, **what):
    out.write(json.dumps({"jsonrpc": "2.0", "id": id, **what}).encode() + b"\\n")
    out.flush()
for line in sys.stdin:
    frame = json.loads(line)
    id, method = frame.get("id"), frame["method"]
    if method == "initialize":
        about = {"serverInfo": {"name": "s", "version": "1"}, "capabilities": {"tools": {}}}
        say(id, result={"protocolVersion": "2025-06-18", **about})
    elif method == "tools/list":
        say(id, result={"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("flood", "echo")]})
    elif method == "tools/call" and frame["params"]["name"] == "flood":
        for _ in range(1024):
            out.write(b"x" * (1 << 20))
    elif method == "tools/call":
        say(id, result={"content": [], "structuredContent": frame["params"]["arguments"]})
    elif id is not None:
        say(id, error={"code": -32601, "message": "not known"})
"""
CLIENT = """
import json, os, select, socket
host, _, port = os.environ["DIAL"].partition(":")[2].partition(":")
class Client:
    def __init__(self, server):
        self.socket = socket.create_connection((host, int(port)))
        self.socket.sendall(b"ARCI mcp a " + server + b"\\n")
        self.file = self.socket.makefile("rb")
    def ask(self, method, **params):
        frame = {"jsonrpc": "2.0", "id": "x", "method": method, "params": params}
        self.socket.sendall(json.dumps(frame).encode() + b"\\n")
    def answer(self):
        return json.loads(self.file.readline())["result"]
    def echo(self, n):
        self.ask("tools/call", name="echo", arguments={"n": n})
        answer = self.answer()
        return answer["isError"] if answer.get("isError") else answer["structuredContent"]["n"] == n
"""
ONE_FLOODS = (
    CLIENT
    + """
hostile, other = Client(b"hostile"), Client(b"other")
hostile.ask("tools/call", name="flood", arguments={})
count, answered = 0, []
while not answered:
    assert other.echo(count)
    count += 1
    answered = select.select([hostile.socket], [], [], 0)[0]
assert all(other.echo(n) for n in range(20))
assert hostile.answer()["isError"]
print("done")
"""
)
CROWD = (
    CLIENT
    + """
crowd, other = [Client(b"other") for _ in range(50)], Client(b"other")
for round in range(8):
    for client in crowd:
        try:
            client.socket.sendall(b"[" * ((1 << 20) - 1) + (b"\\n" if round == 7 else b"["))
        except OSError:
            pass
    other.ask("ping")
    assert other.answer() == {}
    assert other.echo(round)
print("done")
"""
)
"""Whole lines of 8 MiB, all of them under way at once. Whoever is cut off for it goes without."""


@dataclass(frozen=True)
class Attack:
    client: str
    is_apart: bool
    """The hostile server runs in a container of its own."""
    trouble: str | None
    """What becomes of it."""


ATTACKS = {
    "a server floods": Attack(ONE_FLOODS, False, "server 'hostile' wrote a line that did not end; it was killed"),
    "a server apart floods": Attack(ONE_FLOODS, True, "server 'hostile' wrote a line that did not end; it was killed"),
    "fifty clients send brackets": Attack(CROWD, False, None),
}
ARGV = ["python3", "-I", "-S", "-c", SERVER]


def server(name: str, *, is_apart: bool = False) -> dict[str, Any]:
    return {"name": name, "argv": ARGV, "env": {}, "has_image": is_apart, "snapshot": None, "crash": "error"}


def begin(pod: DockerPod, servers: Sequence[Mapping[str, Any]]) -> bytes:
    place = pod.workdir(Role.ENVIRONMENT)
    named = [
        {
            **{key: s[key] for key in ("name", "env", "snapshot")},
            "argv": None if s["has_image"] else s["argv"],
            "workdir": f"{place}/{s['name']}",
            "task_file": f"{place}/{s['name']}.task.json",
        }
        for s in servers
    ]
    frame = {
        "type": "begin",
        "listen": [pod.listen],
        "tokens": {"agent": "a", "status": "s", "environment": "e"},
        "servers": named,
        "trial": {"trial_id": "c:00000:baseline", "seed": 7, "task": {}},
        "contract": {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}},
        "budgets": {"max_tool_calls": 10**6, "max_model_steps": 1, "tool_seconds": 60, "setup_seconds": 60},
        "faults": [],
    }
    return json.dumps(frame).encode() + b"\n"


class Host:
    """Listens to a recorder, as a host does."""

    def __init__(self, recorder: Guest) -> None:
        self.recorder = recorder
        self.said = b""

    async def listen(self) -> None:
        async for chunk in self.recorder.output():
            self.said += chunk.data if chunk.stream == "stdout" else b""

    @property
    def troubles(self) -> list[str]:
        frames = [json.loads(line) for line in self.said.splitlines(keepends=True) if line.endswith(b"\n")]
        return [frame["detail"] for frame in frames if frame["type"] == "trouble"]


def memory(engine: Engine, run: RunPlan) -> dict[str, int]:
    """The most that the boundary's container has used, in bytes, and how often the kernel killed in it for memory."""
    mine = [f"{RUN}={run.run_id}", f"{ROLE}=boundary"]
    (row,) = engine.api.containers(filters={"label": mine})
    look = ["sh", "-c", f"cat {CGROUP_1} 2>/dev/null || cat {CGROUP_2}"]
    said: bytes = engine.api.exec_start(engine.api.exec_create(row["Id"], look)["Id"])
    told = said.decode().split()
    return {"peak": int(told[0]), "kills": int(told[told.index("oom_kill") + 1])}


@asynccontextmanager
async def recording(engine: Engine, run: RunPlan) -> AsyncIterator[tuple[DockerPod, Host]]:
    """A pod with a recorder whose servers are ready."""
    servers = run.manifest.environment.servers
    async with (
        DockerIsolation(engine).open(run) as slots,
        slots.pod(trial()) as pod,
        anyio.create_task_group() as group,
    ):
        argv = pod.python(Role.BOUNDARY, "recorder", "--root", "/tmp")
        host = Host(await pod.start(Role.BOUNDARY, ProcessSpec(argv)))
        group.start_soon(host.listen)
        await host.recorder.send(begin(pod, [asdict(s) for s in servers]))
        for apart in (s for s in servers if s.has_image):
            home = f"{pod.workdir(Role.ENVIRONMENT)}/{apart.name}"
            await pod.start(Role.ENVIRONMENT, ProcessSpec(apart.argv, serve=(apart.name, "e"), directories=(home,)))
        await until(lambda: b'"initial_state"' in host.said)
        yield pod, host
        group.cancel_scope.cancel()


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_the_container_stays_small_and_others_are_answered(engine: Engine, attack: Attack) -> None:
    servers = (server("hostile", is_apart=attack.is_apart), server("other"))
    run = plan(runtime_image(engine), servers=servers, memory_bytes=LIMIT_MIB * MIB)

    async def main() -> None:
        async with recording(engine, run) as (pod, host):
            said = await ended(await pod.start(Role.AGENT, python(attack.client, env={"DIAL": pod.dial})))
            assert (said.exit.code, said.stdout) == (0, b"done\n"), said
            used = memory(engine, run)
            assert used["kills"] == 0
            assert used["peak"] < LIMIT_MIB * MIB
            await until(lambda: attack.trouble is None or attack.trouble in host.troubles)

    within(main)
