"""The docker back end: opens a run on an engine (sweep, runtime, images, limits) and leaves no trace of it."""

from __future__ import annotations

import resource
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import anyio

from arci.errors import ArciError, EngineError
from arci.isolation.base import Capability, Findings, RunPlan
from arci.isolation.docker.anchor import cast_anchor, keeps_slots
from arci.isolation.docker.bytecode import ensure_bytecode
from arci.isolation.docker.containers import CALL_S, Containers
from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.findings import (
    findings,
    images_started_as_they_are,
    server_containers,
    too_few_files,
    without_command,
)
from arci.isolation.docker.labels import labels
from arci.isolation.docker.probe import Probe, probe
from arci.isolation.docker.remains import find_remains
from arci.isolation.docker.roles import image_key
from arci.isolation.docker.runtime import Runtime, ensure_runtime
from arci.isolation.docker.slots import DockerSlots
from arci.isolation.docker.spec import ImageFacts
from arci.isolation.docker.sweep import sweep
from arci.isolation.groups import task_group
from arci.isolation.remains import Remains
from arci.model.manifest import Manifest
from arci.model.trial import Role

__all__ = ["DockerIsolation", "findings", "too_few_files"]


class DockerIsolation:
    """One engine for one or more runs. Without `engine` it connects by itself when first needed."""

    capabilities = frozenset(Capability)

    def __init__(self, engine: Engine | None = None, runtime: Runtime | None = None) -> None:
        """`runtime`: what to run inside guests instead of this engine's own; see `lent`."""
        self._engine = engine
        self._lent = runtime
        self._probe: Probe | None = None

    @asynccontextmanager
    async def open(self, run: RunPlan) -> AsyncIterator[DockerSlots]:
        engine = await self._connected()
        await _sweep(engine)
        runtime = self._lent or await ensure_runtime(engine)
        images = {
            "runtime": await _facts(engine, runtime.image_id),
            **{key: await _facts(engine, ref) for key, ref in image_refs(run.manifest).items()},
        }
        async with _containers(engine) as containers:
            seen = await self._probed(containers, images["runtime"], run)
            bytecode = await ensure_bytecode(
                containers, _python_images(run.manifest, images), images["runtime"], runtime.volume, run
            )
            files = min(run.manifest.isolation.files, seen.files)
            if not keeps_slots(run.manifest.isolation):
                await cast_anchor(containers, run, images["runtime"], files)
            yield DockerSlots(
                run, containers, images=images, runtime_volume=runtime.volume, bytecode=bytecode, files=files
            )

    async def check(self, run: RunPlan) -> Findings:
        engine = await self._connected()
        stuck = await _sweep(engine)
        runtime = self._lent or await ensure_runtime(engine)
        async with _containers(engine) as containers:
            seen = await self._probed(containers, await _facts(engine, runtime.image_id), run)
        info = await engine.call("ask the engine about itself", engine.api.info, timeout_s=CALL_S)
        found = findings(run, seen, info, engine)
        open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        refs = image_refs(run.manifest)
        started = {key: await _facts(engine, refs[key]) for key in images_started_as_they_are(run.manifest)}
        problems = (
            *found.problems,
            *too_few_files(run.workers, open_files, servers=server_containers(run.manifest)),
            *without_command(started),
        )
        return replace(found, problems=problems, warnings=(*found.warnings, *stuck))

    async def remains(self, run_id: str) -> Remains:
        """Containers and volumes that carry the run's label."""
        return await find_remains(await self._connected(), run_id)

    async def _connected(self) -> Engine:
        if self._engine is None:
            self._engine = await connect()
        return self._engine

    async def _probed(self, containers: Containers, image: ImageFacts, run: RunPlan) -> Probe:
        if self._probe is None:
            limits = replace(run.manifest.isolation, read_only=True)
            own = labels(run.run_id, run.manifest.experiment_id, "holder")  # alive while it runs, as a holder is
            self._probe = await probe(containers, image, limits, own)
        containers.processes = self._probe.processes
        return self._probe


def image_refs(manifest: Manifest) -> Mapping[str, str]:
    """Key (`baseline`, `candidate`, `boundary`, `grader`, `server:<name>`) -> the engine's image id, as sealing
    resolved it here."""
    refs: Mapping[str, str] = manifest.volatile.get("image_refs", {})
    servers = {image_key(Role.ENVIRONMENT, "", s.name) for s in manifest.environment.servers if s.has_image}
    missing = {"baseline", "candidate", "boundary", "grader", *servers} - set(refs)
    if missing:
        raise EngineError("find the images", f"the manifest names none for {', '.join(sorted(missing))}.")
    return refs


def _python_images(manifest: Manifest, images: Mapping[str, ImageFacts]) -> list[ImageFacts]:
    """The images whose own Python runs a guest of ours."""
    keys = ["boundary", *(arm.name for arm in manifest.arms.values() if arm.kind == "python")]
    return [images[key] for key in (*keys, *(("grader",) if manifest.grader.kind == "python" else ()))]


async def _sweep(engine: Engine) -> tuple[str, ...]:
    """Sweep; what will not go is a warning, no reason to refuse this run."""
    try:
        await sweep(engine)
    except EngineError as error:
        return (str(error),)
    return ()


@asynccontextmanager
async def _containers(engine: Engine) -> AsyncIterator[Containers]:
    """What is made within is removed when it is left, however it is left."""
    async with task_group() as tasks:
        containers = Containers(engine, tasks)
        trouble: ArciError | None = None
        try:
            yield containers
        except ArciError as error:
            trouble = error
            raise
        finally:
            with anyio.CancelScope(shield=True), _told_beside(trouble):
                await containers.remove_all()


@contextmanager
def _told_beside(trouble: ArciError | None) -> Iterator[None]:
    """What could not be removed is told with the trouble that came first and is the reason, not in its place."""
    try:
        yield
    except EngineError:
        if trouble is None:
            raise
        left = "What is left on the engine is removed by the next run on it, or by: arci clean"
        trouble.hint = left if trouble.hint is None else f"{trouble.hint} {left}"


async def _facts(engine: Engine, reference: str) -> ImageFacts:
    try:
        inspect = await engine.call("inspect an image", engine.api.inspect_image, reference, timeout_s=CALL_S)
    except EngineError as error:
        if error.status == 404:
            raise EngineError(
                "find an image",
                f"{reference} is not on this engine.",
                hint="arci images load FILE, or run from the descriptor so that it is built again.",
            ) from None
        raise
    return ImageFacts.from_inspect(inspect)
