"""What the commands are made of: small steps, each takes the value of the one before. Renders nothing, exits nowhere.

`run_experiment` is `RUN_STEPS` in order; the whole program is read there.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from arci.errors import UsageError
from arci.gate.decision import Decision, decision_bytes
from arci.isolation.base import Findings, Isolation
from arci.manifest.descriptor import Descriptor, Overrides, load_descriptor
from arci.manifest.schedule import schedule
from arci.manifest.seal import is_manifest, load_manifest, seal
from arci.model.manifest import Manifest
from arci.run.observe import Observer, Silent
from arci.sealing import hold_to_seal, identities, runtime_sha256
from arci.store.prior import prior_runs, refuse_existing
from arci.store.reader import read_run
from arci.store.resume import resume_run
from arci.store.run import StoredRun
from arci.store.writer import RunWriter, utc_now

if TYPE_CHECKING:
    from arci.run.result import TrialResult
    from arci.run.single import Tools
    from arci.run.witness import Witness

__all__ = [
    "RUN_STEPS",
    "Job",
    "RunOptions",
    "default_workers",
    "gate_run",
    "list_tools",
    "run_experiment",
    "seal_descriptor",
    "try_trial",
]

Notice = Callable[[str], None]
Loop = Callable[..., Any]


def default_workers() -> int:
    """One more than there are processors: while one trial waits for the engine, the others compute."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


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
        return replace(job, document=load_manifest(options.path))
    overrides = Overrides(backend=options.backend, n_per_arm=options.n_per_arm)
    descriptor = load_descriptor(options.path, overrides=overrides)
    for warning in descriptor.warnings:
        job.observer.warn(warning)
    return replace(job, descriptor=descriptor)


async def claim(job: Job) -> Job:
    """Refuse an id that has a run already, or has none to resume, before anything is paid for."""
    options, home = job.options, job.options.out / job.experiment_id
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
        resumed = resume_run(options.out / manifest.experiment_id, job.document)
        writer, recorded = resumed.writer, resumed.recorded
    else:
        writer = RunWriter.create(
            options.out,
            job.document,
            job.run_id,
            force=options.force,
            engine_facts=findings.facts,
            warnings=findings.warnings,
        )
    with writer:
        await run_trials(
            manifest,
            [trial for trial in schedule(manifest) if trial.trial_id not in recorded],
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
SEAL_STEPS = (load, place, resolve_and_seal)


def run_experiment(job: Job, loop: Loop = anyio.run) -> Job:
    """All of `arci run`: the job with its run directory and decision, or one of `arci.errors`.

    `loop` runs the steps, as `anyio.run` does; the command line's heeds signals as well.
    """
    done: Job = loop(_through, RUN_STEPS, job)
    return done


def seal_descriptor(job: Job, loop: Loop = anyio.run) -> Job:
    """All of `arci seal`."""
    sealed: Job = loop(_through, SEAL_STEPS, job)
    return sealed


def try_trial(
    job: Job,
    *,
    arm: str = "candidate",
    condition: str | None = None,
    index: int = 0,
    witness: Witness | None = None,
    loop: Loop = anyio.run,
) -> TrialResult:
    """All of `arci try`: one planned trial (of the first condition unless named), made and not recorded, no verdict.

    `job.options`: `path`, `backend`, `n_per_arm` and `build_ca` count. The result's `record` (docs/reference/store.md,
    unsealed) and `events` are data, whatever the outcome; what is wrong with the descriptor or the place is one of
    `arci.errors`. `witness` sees guests' output and events as they come. `loop` runs the steps as `anyio.run` does.
    """

    async def step(job: Job) -> TrialResult:
        from arci.run.single import choose_trial, make_one

        sealed = await _through(SEAL_STEPS, job)
        assert sealed.isolation is not None
        trial = choose_trial(sealed.manifest, arm=arm, condition=condition, index=index)
        return await make_one(sealed.manifest, sealed.isolation, trial, witness)

    made: TrialResult = loop(step, job)
    return made


def list_tools(job: Job, loop: Loop = anyio.run) -> Tools:
    """All of `arci tools`: the tools that an agent of the experiment sees, its servers, and what snapshots hide.

    Starts the boundary and the environment, no agent. SpecError where the environment does not stand.
    """

    async def step(job: Job) -> Tools:
        from arci.run.single import read_tools

        sealed = await _through(SEAL_STEPS, job)
        assert sealed.isolation is not None
        return await read_tools(sealed.manifest, sealed.isolation)

    found: Tools = loop(step, job)
    return found


def gate_run(directory: Path) -> tuple[Decision, StoredRun]:
    """Decide a recorded run and keep the decision in its `decision.json`. StoreError if there is no store."""
    from arci.gate.decide import decide as gate
    from arci.store.files import replace_file
    from arci.store.layout import DECISION

    stored = read_run(directory)
    decision = gate(stored)
    replace_file(directory / DECISION, decision_bytes(decision))
    return decision, stored


def _earlier_runs(options: RunOptions, experiment_id: str) -> list[Any]:
    """What the manifest lists of runs before this one; a resumed run lists what it listed when it began."""
    if not options.resume:
        return prior_runs(options.out, experiment_id)
    document = read_run(options.out / experiment_id).manifest or {}
    return [run for run in document.get("prior_runs", []) if isinstance(run, dict) and "store" in run]


async def _through(steps: tuple[Callable[[Job], Any], ...], job: Job) -> Job:
    for step in steps:
        job = await step(job)
    return job
