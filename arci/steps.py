"""What the commands are made of: small steps, each takes the value of the one before. Renders nothing, exits nowhere.

`RUN_STEPS` in order is `arci run`: the whole program is read there. `api` puts steps together for its callers.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anyio import to_thread

from arci.errors import UsageError
from arci.gate.decision import Decision, decision_bytes
from arci.isolation.base import Findings, Isolation
from arci.manifest.descriptor import Descriptor, Overrides, load_descriptor
from arci.manifest.schedule import schedule
from arci.manifest.seal import is_manifest, load_manifest, seal
from arci.model.manifest import Manifest
from arci.run.gate import processors
from arci.run.observe import Observer, Silent
from arci.sealing import hold_to_seal, identities, runtime_sha256
from arci.store.prior import prior_runs, refuse_existing
from arci.store.reader import read_run
from arci.store.resume import resume_run
from arci.store.run import StoredRun
from arci.store.shards import Shard, shard_trials, store_name
from arci.store.writer import RunWriter, utc_now

__all__ = [
    "RUN_STEPS",
    "SEAL_STEPS",
    "SHARD_STEPS",
    "Job",
    "RunOptions",
    "check",
    "claim",
    "decide",
    "default_workers",
    "gate_run",
    "load",
    "place",
    "resolve_and_seal",
    "run",
    "through",
]

Notice = Callable[[str], None]


def default_workers() -> int:
    """One more than there are processors: while one trial waits for the engine, the others compute."""
    return processors() + 1


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line says. `backend` and `n_per_arm` are sealed; the rest is outside the seal."""

    path: Path
    backend: str | None = None
    n_per_arm: int | None = None
    out: Path = Path("runs")
    workers: int = field(default_factory=default_workers)
    force: bool = False
    resume: bool = False
    build_ca: Path | None = None
    shard: Shard | None = None
    """A part of a sealed manifest; None for all of it."""


@dataclass(frozen=True, slots=True)
class Job:
    """An experiment on its way. Each step fills in its part and leaves the rest."""

    options: RunOptions
    observer: Observer = field(default_factory=Silent)
    notice: Notice = lambda text: None
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    descriptor: Descriptor | None = None
    """None where a sealed manifest was given."""
    isolation: Isolation | None = None
    document: Mapping[str, Any] | None = None
    """The sealed manifest."""
    findings: Findings = field(default_factory=Findings)
    directory: Path | None = None
    decision: Decision | None = None
    stored: StoredRun | None = None
    """The run as it was read back for the decision."""

    @property
    def experiment_id(self) -> str:
        return self.descriptor.experiment_id if self.descriptor else self.manifest.experiment_id

    @property
    def manifest(self) -> Manifest:
        assert self.document is not None
        return Manifest.from_document(self.document)


async def load(job: Job) -> Job:
    """Read the descriptor, or a sealed manifest. SpecError with every problem."""
    options = job.options
    if options.workers < 1:
        raise UsageError(f"--workers: {options.workers}; 1 or more is allowed.")
    if is_manifest(options.path):
        if options.backend is not None or options.n_per_arm is not None:
            raise UsageError(f"{options.path}: is sealed; --isolation and --n are for descriptors.")
        return _plan_shard(replace(job, document=load_manifest(options.path)))
    if options.shard is not None:
        raise UsageError(
            f"--shard: {options.path} is not sealed, so that its shards would be parts of different experiments.",
            hint=f"arci seal {options.path} --out sealed.json, and run that file everywhere",
        )
    overrides = Overrides(backend=options.backend, n_per_arm=options.n_per_arm)
    descriptor = load_descriptor(options.path, overrides=overrides)
    for warning in descriptor.warnings:
        job.observer.warn(warning)
    return replace(job, descriptor=descriptor)


async def claim(job: Job) -> Job:
    """Refuse an id that has a run already, or has none to resume, before anything is paid for."""
    options = job.options
    home = options.out / store_name(job.experiment_id, options.shard)
    if options.resume and options.force:
        raise UsageError("--resume continues the run, --force begins another; one of the two is allowed.")
    if options.resume and not home.is_dir():
        raise UsageError(f"{home}: there is no run to resume.", hint="leave --resume out")
    if not options.resume and not options.force:
        refuse_existing(home)
    return job


async def place(job: Job) -> Job:
    """Make the back end that the descriptor or the manifest names; an engine is reached when it is first needed."""
    backend = job.descriptor.backend if job.descriptor else job.manifest.isolation.backend
    if backend == "docker":
        from arci.isolation.docker.isolation import DockerIsolation

        return replace(job, isolation=DockerIsolation())
    from arci.isolation.process.isolation import ProcessIsolation

    return replace(job, isolation=ProcessIsolation())


async def resolve_and_seal(job: Job) -> Job:
    """Give every image its identity, and seal. A manifest that came sealed is kept: what it names must be here."""
    if job.descriptor is None:
        return replace(job, document=await hold_to_seal(job.document or {}, where=str(job.options.path)))
    descriptor, options = job.descriptor, job.options
    images, volatile = await identities(descriptor, build_ca=options.build_ca, notice=job.notice)
    document = seal(
        descriptor,
        images=images,
        runtime_sha256=runtime_sha256(),
        prior_runs=_earlier_runs(options, descriptor.experiment_id),
        volatile={**volatile, "descriptor": str(descriptor.path), "sealed_at": utc_now()},
    )
    return replace(job, document=document)


async def check(job: Job) -> Job:
    """Preflight, before anything is paid for: the place, its limits, both arms' start, world and oracle."""
    from arci.run.preflight import preflight

    assert job.isolation is not None
    job.notice("Checking that everything starts.")
    findings = await preflight(job.manifest, job.isolation, str(uuid.uuid4()), workers=job.options.workers)
    for warning in findings.warnings:
        job.observer.warn(warning)
    return replace(job, findings=findings)


async def run(job: Job) -> Job:
    """Run and record every trial of the schedule."""
    from arci.run.runner import run_trials

    assert job.isolation is not None
    assert job.document is not None
    manifest, options, findings = job.manifest, job.options, job.findings
    recorded: frozenset[str] = frozenset()
    if options.resume:
        home = options.out / store_name(manifest.experiment_id, options.shard)
        resumed = resume_run(home, job.document, options.shard)
        writer, recorded = resumed.writer, resumed.recorded
    else:
        writer = RunWriter.create(
            options.out,
            job.document,
            job.run_id,
            force=options.force,
            engine_facts=findings.facts,
            warnings=findings.warnings,
            shard=options.shard,
        )
    planned = schedule(manifest) if options.shard is None else shard_trials(manifest, options.shard)
    with writer:
        await run_trials(
            manifest,
            [trial for trial in planned if trial.trial_id not in recorded],
            job.isolation,
            job.run_id,
            writer,
            workers=options.workers,
            observer=job.observer,
            recorded=len(recorded),
        )
    return replace(job, directory=writer.directory)


async def decide(job: Job) -> Job:
    """Gate the sealed records and keep the decision beside them."""
    assert job.directory is not None
    decision, stored = await to_thread.run_sync(gate_run, job.directory)
    return replace(job, decision=decision, stored=stored)


RUN_STEPS = (load, claim, place, resolve_and_seal, check, run, decide)
SHARD_STEPS = RUN_STEPS[:-1]
"""A part of the trials decides nothing: its records are kept until they are merged with the others."""
SEAL_STEPS = (load, place, resolve_and_seal)


def gate_run(directory: Path) -> tuple[Decision, StoredRun]:
    """Decide a recorded run and keep the decision in its `decision.json`. StoreError if there is no store."""
    from arci.gate.decide import decide as gate
    from arci.store.files import replace_file
    from arci.store.layout import DECISION

    stored = read_run(directory)
    decision = gate(stored)
    replace_file(directory / DECISION, decision_bytes(decision))
    return decision, stored


def _plan_shard(job: Job) -> Job:
    """UsageError, before anything is paid for, where the manifest cannot be split so."""
    if job.options.shard is not None:
        shard_trials(job.manifest, job.options.shard)
    return job


def _earlier_runs(options: RunOptions, experiment_id: str) -> list[Any]:
    """What the manifest lists of runs before this one; a resumed run lists what it listed when it began."""
    if not options.resume:
        return prior_runs(options.out, experiment_id)
    document = read_run(options.out / experiment_id).manifest or {}
    return [run for run in document.get("prior_runs", []) if isinstance(run, dict) and "store" in run]


async def through(steps: tuple[Callable[[Job], Any], ...], job: Job) -> Job:
    """The job, taken through `steps` in order."""
    for step in steps:
        job = await step(job)
    return job
