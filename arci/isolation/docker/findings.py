"""What preflight makes of an engine: problems that refuse a run, warnings, facts. Pure."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from arci.isolation.base import Findings, RunPlan
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.probe import Probe, unenforced
from arci.isolation.docker.roles import image_key
from arci.isolation.docker.spec import ImageFacts
from arci.model.manifest import Isolation, Manifest
from arci.model.trial import Role

__all__ = [
    "FILES",
    "FILES_PER_SERVER",
    "FILES_PER_WORKER",
    "NEEDED_FREE_BYTES",
    "findings",
    "images_started_as_they_are",
    "server_containers",
    "too_few_files",
    "without_command",
]

NEEDED_FREE_BYTES = 512 << 20
"""Less room than this where the engine keeps containers refuses the run before trial 1."""

FILES_PER_WORKER = 12
"""Open at once for one worker: the streams of four holders and three guests, and engine calls under way."""
FILES_PER_SERVER = 2
"""The same for each server in a container of its own: its stream, and a call under way."""
FILES = 64
"""Open for everything else: the interpreter, the run store, idle connections."""


def server_containers(manifest: Manifest) -> int:
    """How many containers of a trial are servers."""
    return sum(server.has_image for server in manifest.environment.servers)


def images_started_as_they_are(manifest: Manifest) -> tuple[str, ...]:
    """Keys of the images whose ENTRYPOINT and CMD are what runs, since no argv is declared."""
    arms = [arm.name for arm in manifest.arms.values() if arm.kind == "command" and not arm.argv]
    servers = [server.name for server in manifest.environment.servers if server.has_image and not server.argv]
    return (*arms, *(image_key(Role.ENVIRONMENT, "", name) for name in servers))


def without_command(images: Mapping[str, ImageFacts]) -> tuple[str, ...]:
    """A problem for each image, by its key, that is to be started as it is and names nothing to start."""
    return tuple(
        f"image of {key}: has neither an ENTRYPOINT nor a CMD, and no `argv` is declared; one of them is required."
        for key, image in images.items()
        if not (*image.entrypoint, *image.cmd)
    )


def too_few_files(workers: int, limit: int, *, servers: int = 0) -> tuple[str, ...]:
    """A problem where `workers` need more open files than this process may have (`limit`).

    `servers`: containers of each trial beside the three that every trial has.
    """
    per_worker = FILES_PER_WORKER + servers * FILES_PER_SERVER
    needed = workers * per_worker + FILES
    if limit == resource.RLIM_INFINITY or needed <= limit:
        return ()
    most = max(1, (limit - FILES) // per_worker)
    return (
        f"open files: {workers} workers need up to {needed}, this process may have {limit}. "
        f"`ulimit -n {needed}`, or at most `--workers {most}`.",
    )


def findings(run: RunPlan, seen: Probe, info: Mapping[str, Any], engine: Engine) -> Findings:
    """What the probe and the engine's own words mean for this run."""
    limits = run.manifest.isolation
    memory = int(info.get("MemTotal") or 0)
    problems, warnings = _enforcement(limits, seen)
    if seen.free_bytes < NEEDED_FREE_BYTES:
        problems.append(
            f"disk: {seen.free_bytes >> 20} MiB free where the engine keeps containers; "
            f"at least {NEEDED_FREE_BYTES >> 20} MiB are needed."
        )
    # A trial's agent, boundary and servers live at the same time.
    wanted = run.workers * limits.memory_bytes * (2 + server_containers(run.manifest))
    if memory and wanted > memory:
        warnings.append(
            f"memory: {run.workers} workers may use {wanted >> 20} MiB; the engine's machine has {memory >> 20} MiB."
        )
    if seen.files < limits.files:
        warnings.append(f"open files: {limits.files} asked for, {seen.files} is what the engine can give.")
    if not limits.read_only:
        warnings.append("disk: with `read_only: false` what a container writes outside its workdir is not limited.")
    return Findings(tuple(problems), tuple(warnings), _facts(info, engine, memory))


def _enforcement(limits: Isolation, seen: Probe) -> tuple[list[str], list[str]]:
    """Problems and warnings for limits that the engine accepts and does not enforce."""
    missing = unenforced(seen, replace(limits, read_only=True))
    text = f"limits not enforced by this engine: {'; '.join(missing)}."
    if missing and limits.allow_unenforced:
        return [], [text]
    return [f"{text} `isolation.allow_unenforced: true` accepts that."] if missing else [], []


def _facts(info: Mapping[str, Any], engine: Engine, memory_bytes: int) -> dict[str, Any]:
    return {
        "endpoint": engine.endpoint,
        "why": engine.why,
        "name": info.get("Name"),
        "version": info.get("ServerVersion"),
        "cgroup": info.get("CgroupVersion"),
        "storage": info.get("Driver"),
        "cpus": info.get("NCPU"),
        "memory_bytes": memory_bytes,
    }
