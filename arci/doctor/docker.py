"""The examination of an engine: found, asked, probed with one container of a trial's own limits. Makes what it needs.

Each step adds its lines; the first one that cannot go on says why, and the rest is left out.
"""

from __future__ import annotations

import resource
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version as version_of
from typing import Any

import anyio

from arci.doctor.engine_facts import EngineFacts, engine_lines
from arci.doctor.finding import Health, Line
from arci.errors import EngineError
from arci.isolation.base import RunPlan
from arci.isolation.conformance.plan import conformance_plan
from arci.isolation.docker.base_image import base_tag
from arci.isolation.docker.containers import CALL_S, Containers
from arci.isolation.docker.engine import NEWEST_VERSION, Engine
from arci.isolation.docker.images_store import list_images
from arci.isolation.docker.isolation import findings, too_few_files
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.probe import Probe, probe
from arci.isolation.docker.runtime import ensure_runtime
from arci.isolation.docker.spec import ImageFacts
from arci.isolation.docker.sweep import find_leftovers
from arci.isolation.groups import task_group

__all__ = ["IMAGE_KEYS", "Examination", "examine_engine"]

IMAGE_KEYS = ("baseline", "candidate", "boundary", "grader")
_DEFAULTS = {"memory_bytes": 512 << 20, "pids": 256, "files": 16_384, "disk_bytes": 256 << 20}
"""The limits of a descriptor that names none."""
_REMEDIES = {
    "limits": "another engine or cgroup v2; `isolation.allow_unenforced: true` accepts it",
    "disk": "arci images prune, or make room where the engine keeps its data",
    "memory": "fewer --workers, or a smaller isolation.memory",
    "open files": "raise the engine's and this shell's limit of open files (ulimit -n), or fewer --workers",
}


@dataclass
class Examination:
    """What was found so far. `image`: the engine's id of the runtime image; None if it cannot be had."""

    engine: Engine
    workers: int
    lines: list[Line] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    image: str | None = None


async def examine_engine(engine: Engine, workers: int, notice: Callable[[str], None]) -> Examination:
    """Everything about `engine` but the conformance checks. What fails is a line, not an exception."""
    found = Examination(engine, workers)
    found.lines.append(Line("engine", Health.OK, f"{engine.endpoint}, because {engine.why}"))
    for name, step in _STEPS.items():
        try:
            await step(found, notice)
        except EngineError as error:
            found.lines.append(Line(name, Health.PROBLEM, error.message, error.hint or ""))
            break
    return found


async def _ask(found: Examination, notice: Callable[[str], None]) -> None:
    api = found.engine.api
    version = await found.engine.call("ask the engine's version", api.version, timeout_s=CALL_S)
    info = await found.engine.call("ask the engine about itself", api.info, timeout_s=CALL_S)
    facts = EngineFacts.of(
        version,
        info,
        agreed=api.api_version,
        client=version_of("docker"),
        client_newest=NEWEST_VERSION,
    )
    found.facts = {"endpoint": found.engine.endpoint, "why": found.engine.why, **asdict(facts)}
    found.lines += engine_lines(facts)


async def _make_runtime(found: Examination, notice: Callable[[str], None]) -> None:
    runtime = await ensure_runtime(found.engine, notice)
    found.image = runtime.image_id
    rows = await list_images(found.engine)
    size = sum(row.size_bytes for row in rows) / 1e9
    detail = f"{base_tag()} and a runtime image are there; of arci in all {len(rows)} images, {size:.1f} GB at most"
    found.lines.append(Line("images", Health.OK, detail))


async def _probe(found: Examination, notice: Callable[[str], None]) -> None:
    assert found.image is not None
    run = conformance_plan("docker", workers=found.workers, isolation=_DEFAULTS)
    async with _containers(found.engine) as containers:
        seen = await _probed(containers, found, run)
    info = await found.engine.call("ask the engine about itself", found.engine.api.info, timeout_s=CALL_S)
    said = findings(run, seen, info, found.engine)
    problems = (*said.problems, *too_few_files(run.workers, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
    found.lines += _limit_lines(seen, found.workers, problems, said.warnings)


async def _probed(containers: Containers, found: Examination, run: RunPlan) -> Probe:
    inspect = await found.engine.call("inspect an image", found.engine.api.inspect_image, found.image, timeout_s=CALL_S)
    own = labels(run.run_id, "doctor", HOLDER)  # alive while it runs, as a holder is
    return await probe(containers, ImageFacts.from_inspect(inspect), run.manifest.isolation, own)


def _limit_lines(seen: Probe, workers: int, problems: tuple[str, ...], warnings: tuple[str, ...]) -> list[Line]:
    """One line for each thing that the probe tells; what a run would be refused for is a problem here too. Pure."""
    fine = {
        "limits": "in force in a container: memory, processes, no capability, no new privileges, no network, "
        "read-only root",
        "disk": f"{seen.free_bytes / 1e9:.1f} GB free where the engine keeps containers",
        "memory": f"enough for {workers} workers at the default limits",
        "open files": f"a container may have {seen.files}",
    }
    lines = []
    for name, detail in fine.items():
        wrong = [text for text in problems if text.startswith(name)]
        doubtful = [text for text in warnings if text.startswith(name)]
        health = Health.PROBLEM if wrong else Health.WARNING if doubtful else Health.OK
        told = " ".join(text.removeprefix(f"{name}: ") for text in (*wrong, *doubtful))
        lines.append(Line(name, health, told or detail, _REMEDIES[name] if told else ""))
    return lines


async def _look_for_leftovers(found: Examination, notice: Callable[[str], None]) -> None:
    left = await find_leftovers(found.engine)
    if not left.run_ids:
        found.lines.append(Line("left-overs", Health.OK, "none of dead runs"))
        return
    detail = f"{len(left.run_ids)} dead runs left {len(left.containers)} containers and {len(left.volumes)} volumes"
    found.lines.append(Line("left-overs", Health.WARNING, detail, "arci clean"))


_STEPS = {"versions": _ask, "images": _make_runtime, "limits": _probe, "left-overs": _look_for_leftovers}


@asynccontextmanager
async def _containers(engine: Engine) -> AsyncIterator[Containers]:
    async with task_group() as tasks:
        containers = Containers(engine, tasks)
        try:
            yield containers
        finally:
            with anyio.CancelScope(shield=True):
                await containers.remove_all()
