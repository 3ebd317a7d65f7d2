"""Servers in containers of their own: any image, the trusted side alone, and nothing in reach but their connection."""

from __future__ import annotations

import io
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from pods import (
    BARE,
    Said,
    ended,
    heard,
    image_with,
    of_run,
    plan,
    python,
    runtime_image,
    trial,
    volumes_of_run,
    within,
)

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec, RunPlan
from arci.isolation.conformance.plan import BANK, SERVERS, SHOP
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.labels import ROLE, TRIAL
from arci.isolation.docker.pod import DockerPod
from arci.isolation.script import Listen, render
from arci.model.trial import Role

TOKEN = "t0k3n"
HELLO = b"ARCI environment t0k3n shop"
SLEEP = python("import time; time.sleep(600)")
SERVER = """\
read greeting
echo "greeted: $greeting"
id -u
pwd
echo "home $HOME, temporary $TMPDIR"
cd "$HOME" && mkdir deep && echo "as it was" >deep/db
for place in /run/arci/mine / /etc /opt/arci/mine; do
    if (: >"$place/touched") 2>/dev/null; then echo "wrote $place"; fi
done
for socket in /run/arci/*.sock; do rm -f "$socket" 2>/dev/null && echo "removed $socket"; done
while read line; do echo "got $line"; done
echo "end of stdin" >&2
"""
"""What a server without Python, of a user that no file knows, finds out and tells its boundary."""


@pytest.fixture(scope="module")
def bare(engine: Engine) -> Iterator[str]:
    lines = 'COPY server.sh /server.sh\nUSER 10001\nVOLUME ["/data"]\nENTRYPOINT ["sh", "/server.sh"]'
    with image_with(engine, f"{BARE}\n{lines}", {"server.sh": SERVER.encode()}) as tag:
        yield tag


def run_of(engine: Engine, server: str | None = None, **limits: Any) -> RunPlan:
    run = plan(runtime_image(engine), servers=SERVERS, **limits)
    if server is not None:
        run.manifest.volatile["image_refs"][f"server:{SHOP}"] = server
    return run


@asynccontextmanager
async def listening(
    isolation: DockerIsolation, run: RunPlan, *, half_closes: bool = False
) -> AsyncIterator[tuple[DockerPod, DockerGuest]]:
    async with isolation.open(run) as slots, slots.pod(trial()) as pod:
        boundary = await pod.start(Role.BOUNDARY, ProcessSpec(render((Listen(pod.listen, half_closes),))))
        await heard(boundary, b"listening\n")
        yield pod, boundary


def serving(pod: DockerPod, name: str = SHOP, argv: tuple[str, ...] = ()) -> ProcessSpec:
    home = f"{pod.workdir(Role.ENVIRONMENT)}/{name}"
    return ProcessSpec(argv, serve=(name, TOKEN), directories=(home,))


@dataclass(frozen=True, slots=True)
class Served:
    """A server's whole life: what the boundary heard of it, how it ended, what it left."""

    heard: list[str]
    server: Said
    files: dict[str, tuple[bytes, int]]
    """Name -> content and owner."""


@pytest.fixture(scope="module")
def served(engine: Engine, bare: str) -> Served:
    run = run_of(engine, bare)

    async def main() -> Served:
        async with listening(DockerIsolation(engine), run, half_closes=True) as (pod, boundary):
            server = await pod.start(Role.ENVIRONMENT, serving(pod))
            lines = (await heard(boundary, b"closed " + HELLO + b"\n")).decode().splitlines()
            said = await ended(server)
            archive = await pod.get(Role.ENVIRONMENT, ".", 1 << 20)
            with pytest.raises(FileNotFoundError):
                await pod.get(Role.ENVIRONMENT, "shop/missing", 1 << 20)
            with pytest.raises(ValueError, match="over 600 bytes"):
                await pod.get(Role.ENVIRONMENT, "shop", 600)
        return Served(lines, said, members(archive))

    return within(main)


def members(archive: bytes) -> dict[str, tuple[bytes, int]]:
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if (file := tar.extractfile(member)) is not None:
                found[member.name] = (file.read(), member.uid)
    return found


def test_an_image_without_python_is_served_by_its_entry_point(served: Served) -> None:
    assert served.heard[0] == f"open {HELLO.decode()}"
    assert f"heard greeted: {HELLO.decode()}" in served.heard
    assert (served.server.stdout, served.server.stderr, served.server.exit.code) == (b"", b"end of stdin\n", 0)


def test_it_runs_as_its_images_user_in_its_images_directory_with_a_home_of_its_own(served: Served) -> None:
    assert "heard 10001" in served.heard
    assert "heard /" in served.heard
    assert "heard home /environment/shop, temporary /tmp" in served.heard


def test_it_can_write_neither_root_nor_runtime_nor_the_boundarys_socket(served: Served) -> None:
    assert not [line for line in served.heard if "wrote" in line or "removed" in line]


def test_its_files_are_read_from_the_boundarys_container_after_its_end(served: Served) -> None:
    assert served.files == {"./shop/deep/db": (b"as it was\n", 10001)}, served.heard


@dataclass(frozen=True, slots=True)
class Snapshot:
    roles: dict[tuple[str, str], dict[str, Any]]
    """(role, image id) -> the container as the engine describes it."""
    shop: str
    """The engine's id of the image of the server `shop`."""
    left: list[Any]

    def __getitem__(self, role: str) -> dict[str, Any]:
        (found,) = (c for (name, image), c in self.roles.items() if name == role and image != self.shop)
        return found

    @property
    def server(self) -> dict[str, Any]:
        return self.roles["environment", self.shop]


@pytest.fixture(scope="module")
def snapshot(engine: Engine, bare: str) -> Snapshot:
    run = run_of(engine, bare, caps=["CHOWN"], memory_bytes=80 << 20, pids=99, files=512)
    return within(partial(take_snapshot, engine, bare, run))


async def take_snapshot(engine: Engine, bare: str, run: RunPlan) -> Snapshot:
    api = engine.api
    async with listening(DockerIsolation(engine), run) as (pod, boundary):
        await pod.start(Role.ENVIRONMENT, serving(pod))
        await pod.start(Role.ENVIRONMENT, serving(pod, BANK, SLEEP.argv))
        await heard(boundary, b"bank\n")
        await pod.start(Role.AGENT, SLEEP)
        await pod.start(Role.GRADER, SLEEP)
        inspected = [api.inspect_container(row["Id"]) for row in of_run(engine, run)]
    left = [*of_run(engine, run), *volumes_of_run(engine, run)]
    roles = {(c["Config"]["Labels"][ROLE], c["Image"]): c for c in inspected if TRIAL in c["Config"]["Labels"]}
    shop = api.inspect_image(bare)["Id"]  # type: ignore[no-untyped-call]  # untyped in the stubs
    return Snapshot(roles, shop, left)


def test_each_server_is_a_container_of_its_own_image_beside_the_boundary(snapshot: Snapshot) -> None:
    assert len(snapshot.roles) == 5
    mode = {role: snapshot[role]["HostConfig"]["NetworkMode"] for role in ("boundary", "environment", "agent")}
    assert snapshot.server["HostConfig"]["NetworkMode"] == mode["environment"] == mode["boundary"] != mode["agent"]
    assert snapshot.server["Config"]["User"] == "10001"


def test_a_server_is_hardened_and_limited_as_the_agent_is_without_its_capabilities(snapshot: Snapshot) -> None:
    host, agents = snapshot.server["HostConfig"], snapshot["agent"]["HostConfig"]
    assert (host["CapDrop"], host["CapAdd"], agents["CapAdd"]) == (["ALL"], [], ["CHOWN"])
    for name in ("SecurityOpt", "ReadonlyRootfs", "Privileged", "Memory", "MemorySwap", "PidsLimit", "Ulimits"):
        assert host[name] == agents[name], name
    assert host["Binds"] is None
    assert set(host["Tmpfs"]) == {"/tmp", "/data"}, "the image's volume is masked"


def test_each_container_sees_of_the_servers_what_it_needs(snapshot: Snapshot) -> None:
    def volumes(container: dict[str, Any]) -> dict[str, bool]:
        return {m["Destination"]: m["RW"] for m in container["Mounts"] if m["Type"] == "volume"}

    assert volumes(snapshot.server) == {"/opt/arci": False, "/run/arci": False, "/environment": True}
    assert volumes(snapshot["environment"]) == {"/opt/arci": False, "/run/arci": False}
    assert "/environment" in snapshot["environment"]["HostConfig"]["Tmpfs"]
    assert volumes(snapshot["boundary"])["/environment"] is True
    assert not {"/environment", "/run/arci"} & {*volumes(snapshot["agent"]), *volumes(snapshot["grader"])}


def test_nothing_of_the_servers_is_left(snapshot: Snapshot) -> None:
    assert snapshot.left == []


def test_a_server_that_is_started_twice_or_is_none_is_refused(engine: Engine) -> None:
    run = run_of(engine)

    async def main() -> None:
        async with listening(DockerIsolation(engine), run) as (pod, _):
            await pod.start(Role.ENVIRONMENT, serving(pod, argv=SLEEP.argv))
            for role, process, message in (
                (Role.ENVIRONMENT, serving(pod, argv=SLEEP.argv), "has a environment shop already"),
                (Role.ENVIRONMENT, SLEEP, "an environment guest is a server"),
                (Role.AGENT, serving(pod, argv=SLEEP.argv), "no other guest is one"),
                (Role.ENVIRONMENT, serving(pod, "other"), "no image `server:other`"),
            ):
                with pytest.raises(EngineError, match=message):
                    await pod.start(role, process)

    within(main)


def test_disk_and_memory_of_a_server_are_limited(engine: Engine) -> None:
    fill = """
import os
written = 0
try:
    with open(os.environ["HOME"] + "/full", "wb", 0) as file:
        while written < 1 << 28:
            written += file.write(bytes(1 << 16))
except OSError as error:
    print(written, error.errno, flush=True)
held = [b"x" * (1 << 20) + bytes([n % 256]) for n in range(300)]
"""
    run = run_of(engine)

    async def main() -> None:
        async with listening(DockerIsolation(engine), run) as (pod, boundary):
            server = await pod.start(Role.ENVIRONMENT, serving(pod, argv=python(fill).argv))
            said = await heard(boundary, b"closed ")
            written, number = map(int, said.partition(b"heard ")[2].split()[:2])
            assert 0 < written <= run.manifest.isolation.disk_bytes
            assert number == 28  # ENOSPC
            assert (await ended(server)).exit.code == 137

    within(main)
