"""The docker back end: opens a run on an engine (sweep, runtime, images, limits) and leaves no trace of it."""

from __future__ import annotations

import resource
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio

from arci.errors import EngineError
from arci.isolation.base import Capability, Findings, RunPlan
from arci.isolation.docker.bytecode import ensure_bytecode
from arci.isolation.docker.containers import CALL_S, Containers
from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.labels import labels
from arci.isolation.docker.probe import Probe, probe, unenforced
from arci.isolation.docker.remains import find_remains
from arci.isolation.docker.runtime import ensure_runtime
from arci.isolation.docker.slots import DockerSlots
from arci.isolation.docker.spec import ImageFacts
from arci.isolation.docker.sweep import sweep
from arci.isolation.groups import task_group
from arci.isolation.remains import Remains
from arci.model.manifest import Manifest

__all__ = ["DockerIsolation"]

_NEEDED_FREE_BYTES = 512 << 20
"""Less room than this where the engine keeps containers refuses the run before trial 1."""

_FILES_PER_WORKER = 12
"""Open at once for one worker: the streams of four holders and three guests, and engine calls under way."""
_FILES = 64
"""Open for everything else: the interpreter, the run store, idle connections."""


class DockerIsolation:
    """One engine for one or more runs. Without `engine` it connects by itself when first needed."""

    capabilities = frozenset(Capability)

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine
        self._probe: Probe | None = None

    @asynccontextmanager
    async def open(self, run: RunPlan) -> AsyncIterator[DockerSlots]:
        engine = await self._connected()
        await _sweep(engine)
        runtime = await ensure_runtime(engine)
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
            yield DockerSlots(
                run, containers, images=images, runtime_volume=runtime.volume, bytecode=bytecode, files=files
            )

    async def check(self, run: RunPlan) -> Findings:
        engine = await self._connected()
        stuck = await _sweep(engine)
        runtime = await ensure_runtime(engine)
        async with _containers(engine) as containers:
            seen = await self._probed(containers, await _facts(engine, runtime.image_id), run)
        info = await engine.call("ask the engine about itself", engine.api.info, timeout_s=CALL_S)
        found = findings(run, seen, info, engine)
        problems = *found.problems, *too_few_files(run.workers, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
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
        return self._probe


def image_refs(manifest: Manifest) -> Mapping[str, str]:
    """Key (`baseline`, `candidate`, `boundary`, `grader`) -> the engine's image id, as sealing resolved it here."""
    refs: Mapping[str, str] = manifest.volatile.get("image_refs", {})
    missing = {"baseline", "candidate", "boundary", "grader"} - set(refs)
    if missing:
        raise EngineError("find the images", f"the manifest names none for {', '.join(sorted(missing))}.")
    return refs


def _python_images(manifest: Manifest, images: Mapping[str, ImageFacts]) -> list[ImageFacts]:
    """The images whose own Python runs a guest of ours."""
    keys = ["boundary", *(arm.name for arm in manifest.arms.values() if arm.kind == "python")]
    return [images[key] for key in (*keys, *(("grader",) if manifest.grader.kind == "python" else ()))]


def too_few_files(workers: int, limit: int) -> tuple[str, ...]:
    """A problem where `workers` need more open files than this process may have (`limit`). Pure."""
    needed = workers * _FILES_PER_WORKER + _FILES
    if limit == resource.RLIM_INFINITY or needed <= limit:
        return ()
    most = max(1, (limit - _FILES) // _FILES_PER_WORKER)
    return (
        f"open files: {workers} workers need up to {needed}, this process may have {limit}. "
        f"`ulimit -n {needed}`, or at most `--workers {most}`.",
    )


def findings(run: RunPlan, seen: Probe, info: Mapping[str, Any], engine: Engine) -> Findings:
    """What the probe and the engine's own words mean for this run. Pure."""
    limits = run.manifest.isolation
    problems, warnings = [], []
    missing = unenforced(seen, replace(limits, read_only=True))
    if missing:
        text = f"limits not enforced by this engine: {'; '.join(missing)}."
        if limits.allow_unenforced:
            warnings.append(text)
        else:
            problems.append(f"{text} `isolation.allow_unenforced: true` accepts that.")
    if seen.free_bytes < _NEEDED_FREE_BYTES:
        problems.append(
            f"disk: {seen.free_bytes >> 20} MiB free where the engine keeps containers; "
            f"at least {_NEEDED_FREE_BYTES >> 20} MiB are needed."
        )
    memory = int(info.get("MemTotal") or 0)
    wanted = run.workers * limits.memory_bytes * 2  # a trial's agent and boundary live at the same time
    if memory and wanted > memory:
        warnings.append(
            f"memory: {run.workers} workers may use {wanted >> 20} MiB; the engine's machine has {memory >> 20} MiB."
        )
    if seen.files < limits.files:
        warnings.append(f"open files: {limits.files} asked for, {seen.files} is what the engine can give.")
    if not limits.read_only:
        warnings.append("disk: with `read_only: false` what a container writes outside its workdir is not limited.")
    facts = {
        "endpoint": engine.endpoint,
        "why": engine.why,
        "name": info.get("Name"),
        "version": info.get("ServerVersion"),
        "cgroup": info.get("CgroupVersion"),
        "storage": info.get("Driver"),
        "cpus": info.get("NCPU"),
        "memory_bytes": memory,
    }
    return Findings(tuple(problems), tuple(warnings), facts)


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
        try:
            yield containers
        finally:
            with anyio.CancelScope(shield=True):
                await containers.remove_all()


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
