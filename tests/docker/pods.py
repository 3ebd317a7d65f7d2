"""For tests of pods: a plan with small limits, engines to run it on, and guests with all that they say."""

from __future__ import annotations

import secrets
import tarfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import anyio
import docker.errors
from fake_container import IMAGE_ID, Behaviour, sleep
from fake_engine import FakeEngine, fake_engine

from arci.isolation.base import Exit, Guest, ProcessSpec, RunPlan, TrialPlan
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.docker.build import BuildRequest, build
from arci.isolation.docker.client import Client
from arci.isolation.docker.endpoint import Endpoint
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.labels import RUN
from arci.isolation.docker.pod import DockerPod
from arci.isolation.docker.recipes import KIND
from arci.isolation.docker.runtime import ensure_runtime
from arci.isolation.docker.slots import DockerSlots

LIMIT_S = 60.0
"""A test that waits longer for something has failed."""
IMAGES = ("baseline", "candidate", "boundary", "grader")
BARE = """\
RUN mkdir /bare && cd /bare && mkdir bin etc && cp /bin/sh /bin/cat /bin/mkdir /bin/rm /usr/bin/id bin/ && \\
    ldd bin/* | grep -o '/lib[^ ]*' | sort -u | xargs -I NAME cp -L --parents NAME /bare
FROM scratch
COPY --from=0 /bare /
ENV PATH=/bin
LABEL dev.arci.kind=test"""
"""More lines of a Dockerfile: an image of a shell, `cat`, `id`, `mkdir`, `rm` and what they load, and nothing else."""
KEEP = ProcessSpec(("python3", "-I", "-S", "-c", "import sys; sys.stdin.read()"))
"""A boundary that does nothing but live until its stdin ends."""

T = TypeVar("T")


def trial(arm: str = "baseline", number: int = 0) -> TrialPlan:
    return TrialPlan(f"clean:{number:05d}:{arm}", arm, 1)


def plan(
    image: str = IMAGE_ID,
    *,
    workers: int = 2,
    agent: str | None = None,
    servers: Sequence[Mapping[str, Any]] = (),
    **limits: Any,
) -> RunPlan:
    """All roles from `image`, but for the agent's of both arms where `agent` is given."""
    refs = {name: (agent or image) if name in ("baseline", "candidate") else image for name in IMAGES}
    return conformance_plan("docker", workers=workers, image_refs=refs, isolation=limits, servers=servers)


def python(code: str, **changes: Any) -> ProcessSpec:
    return ProcessSpec(("python3", "-I", "-S", "-c", code), **changes)


def within(body: Callable[[], Awaitable[T]], limit_s: float = LIMIT_S) -> T:
    """Run `body`; TimeoutError if it does not end."""

    async def main() -> T:
        with anyio.fail_after(limit_s):
            return await body()

    return anyio.run(main)


async def until(holds: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
    """Look until it holds; TimeoutError if it never does."""
    with anyio.fail_after(limit_s):
        while not holds():  # noqa: ASYNC110  (what we look at tells nobody)
            await anyio.sleep(0.01)


@dataclass(frozen=True, slots=True)
class Said:
    exit: Exit
    stdout: bytes
    stderr: bytes


async def ended(guest: Guest) -> Said:
    """How a guest ended, and everything it wrote."""
    streams = {"stdout": b"", "stderr": b""}
    async for chunk in guest.output():
        streams[chunk.stream] += chunk.data
    end = await guest.wait(LIMIT_S)
    assert end is not None, f"it still runs and has said {streams}"
    return Said(end, **streams)


async def heard(guest: Guest, text: bytes) -> bytes:
    """Its stdout up to and with `text`."""
    stdout, streams = b"", b""
    async for chunk in guest.output():
        streams += chunk.data
        stdout += chunk.data if chunk.stream == "stdout" else b""
        if text in stdout:
            return stdout
    raise AssertionError(f"{text!r} never came: {streams[-1000:]!r}")


@dataclass(frozen=True, slots=True)
class Fake:
    server: FakeEngine
    engine: Engine

    @asynccontextmanager
    async def run(self, run: RunPlan | None = None) -> AsyncIterator[DockerSlots]:
        async with DockerIsolation(self.engine).open(run or plan()) as slots:
            yield slots

    @asynccontextmanager
    async def pod(self) -> AsyncIterator[DockerPod]:
        async with self.run() as slots, slots.pod(trial()) as pod:
            yield pod


@contextmanager
def on_fake(directory: Path, behave: Behaviour = sleep) -> Iterator[Fake]:
    """A scripted engine with an ARCI that uses it."""
    with fake_engine(directory, behave) as server:
        url = f"unix://{server.path}"
        engine = Engine(Client(base_url=url, version="1.41", timeout=60), Endpoint(url, "a test says so"))
        try:
            yield Fake(server, engine)
        finally:
            engine.close()


def runtime_image(engine: Engine) -> str:
    """The engine's id of the image that ARCI itself runs in; made if it is missing."""
    return anyio.run(ensure_runtime, engine).image_id


def of_run(engine: Engine, run: RunPlan, *, everything: bool = True) -> list[dict[str, Any]]:
    """The engine's rows of a run's containers: all of them, or those that run."""
    rows: list[dict[str, Any]] = engine.api.containers(all=everything, filters={"label": [f"{RUN}={run.run_id}"]})
    return rows


def volumes_of_run(engine: Engine, run: RunPlan) -> list[str]:
    return [v["Name"] for v in engine.api.volumes(filters={"label": [f"{RUN}={run.run_id}"]})["Volumes"] or ()]


def remove_run(engine: Engine, run_id: str) -> None:
    """Whatever a run of a dead process has. To a sweep a holder that it was just making is a young run's."""
    mine = {"label": [f"{RUN}={run_id}"]}
    end = time.monotonic() + LIMIT_S
    while True:  # what was asked for before it died may still be under way
        containers = engine.api.containers(all=True, filters=mine)
        volumes = engine.api.volumes(filters=mine)["Volumes"] or ()
        if not containers and not volumes:
            return
        assert time.monotonic() < end, (containers, volumes)
        for container in containers:
            with suppress(docker.errors.APIError):  # being removed already
                engine.api.remove_container(container["Id"], v=True, force=True)
        for volume in volumes:
            with suppress(docker.errors.APIError):
                engine.api.remove_volume(volume["Name"], force=True)
        time.sleep(0.1)


@contextmanager
def image_with(engine: Engine, lines: str, files: Mapping[str, bytes] | None = None) -> Iterator[str]:
    """An image made of the runtime's and more Dockerfile lines; gone when the context is left."""
    context = BytesIO()
    dockerfile = f"FROM {runtime_image(engine)}\n{lines}\n".encode()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for name, data in {"Dockerfile": dockerfile, **(files or {})}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, BytesIO(data))
    context.seek(0)
    tag = f"arci-test/pods:{secrets.token_hex(8)}"
    anyio.run(build, engine, context, BuildRequest(tag, {KIND: "test"}))
    try:
        yield tag
    finally:
        engine.api.remove_image(tag, force=True)
