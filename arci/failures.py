"""What is done with one recorded failure: made again, minimised, bundled. Steps put together; renders nothing."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arci.errors import UsageError
from arci.manifest.seal import is_manifest
from arci.model.canonical import canonical
from arci.model.manifest import Manifest
from arci.sealing import hold_to_seal
from arci.steps import Job, RunOptions, load, place, resolve_and_seal, through

if TYPE_CHECKING:
    from arci.bundle.document import BundleDocument
    from arci.bundle.engine_images import ImageSource
    from arci.diagnose.minimise import Minimised, Rules
    from arci.diagnose.rerun import RecordedTrial, Rerun
    from arci.isolation.base import Isolation
    from arci.run.witness import Witness

__all__ = ["BundleOrder", "bundle_trial", "minimise_trial", "rerun_trial"]

Notice = Callable[[str], None]


async def rerun_trial(run: Path, trial_id: str, witness: Witness | None = None) -> Rerun:
    """All of `arci rerun`. SpecError where what was sealed is not here; the rest as `diagnose.rerun`."""
    from arci.diagnose.rerun import rerun

    recorded, isolation = await _placed(run, trial_id)
    return await rerun(recorded, isolation, witness)


async def minimise_trial(run: Path, trial_id: str, out: Path, rules: Rules, notice: Notice) -> Minimised:
    """All of `arci minimize`: the reproducer is written to `out`, which `arci run` and `arci bundle` take."""
    from arci.diagnose.minimise import minimise
    from arci.run.single import live_trials
    from arci.store.files import replace_file

    recorded, isolation = await _placed(run, trial_id)
    _refuse_among_sources(recorded.manifest, out)
    async with live_trials(recorded.manifest, isolation, recorded.trial.arm) as make:
        found = await minimise(recorded, make, rules, notice)
    replace_file(out, canonical(found.document) + b"\n")
    return found


@dataclass(frozen=True, slots=True)
class BundleOrder:
    """What to bundle: a trial of a run store, or the one that a reproducer of `arci minimize` makes."""

    source: Path
    trial_id: str | None
    out: Path
    embed: bool = True


async def bundle_trial(order: BundleOrder, notice: Notice) -> BundleDocument:
    """All of `arci bundle`. UsageError, StoreError, SpecError or BundleError naming what is wrong."""
    from arci.bundle.write import write_bundle
    from arci.diagnose.rerun import read_recorded

    async with _store(order, notice) as (run, trial_id), _images(run, trial_id) as images:
        _refuse_among_sources(read_recorded(run, trial_id).manifest, order.out)
        notice(f"Bundling {trial_id}.")
        return await write_bundle(run, trial_id, order.out, images=images, embed=order.embed)


def _refuse_among_sources(manifest: Manifest, out: Path) -> None:
    """UsageError for a file that would change the sources of a process run, so that they are not what was sealed."""
    from arci.bundle.source import sources_of
    from arci.manifest.context import OWN_FILES

    if manifest.isolation.backend != "process" or out.name.endswith(OWN_FILES):
        return
    root, place = Path(manifest.volatile.get("root", ".")), out.absolute()
    for source in sources_of(manifest).values():
        top = (root / source).resolve()
        if place.resolve().is_relative_to(top) and place.resolve().relative_to(top).parts[0] != "runs":
            raise UsageError(
                f"--out: {out} would lie among the sources that were sealed, and change them.",
                hint=f"call it *{OWN_FILES[0]} or *{OWN_FILES[1]}, which are left out, or write it elsewhere",
            )


async def _placed(run: Path, trial_id: str) -> tuple[RecordedTrial, Isolation]:
    """The recorded trial with this machine's ids of its images, and where it was made."""
    from arci.diagnose.rerun import read_recorded

    recorded = read_recorded(run, trial_id)
    document = await hold_to_seal(recorded.document, where=str(run))
    placed = await place(Job(RunOptions(run), document=document))
    assert placed.isolation is not None
    return replace(recorded, document=document, manifest=Manifest.from_document(document)), placed.isolation


@asynccontextmanager
async def _store(order: BundleOrder, notice: Notice) -> AsyncIterator[tuple[Path, str]]:
    """The run store and the trial. A sealed manifest's trial is made first, in a store that goes afterwards."""
    if not order.source.exists():
        raise UsageError(
            f"RUN: {order.source} is not there; the directory of a run (with TRIAL), or a file that arci minimize "
            "wrote, is required."
        )
    if order.source.is_dir():
        if order.trial_id is None:
            hint = f"arci triage {order.source} names those that failed"
            raise UsageError(
                "TRIAL: is missing; a trial of the run, such as clean:00012:candidate, is required.", hint=hint
            )
        yield order.source, order.trial_id
        return
    if not is_manifest(order.source):
        raise UsageError(
            f"RUN: {order.source} is neither a run's directory nor what arci minimize wrote; one of them is required."
        )
    with tempfile.TemporaryDirectory(prefix="arci-bundle-") as directory:
        yield await _made(order, Path(directory), notice)


async def _made(order: BundleOrder, directory: Path, notice: Notice) -> tuple[Path, str]:
    """The reproducer's trial, recorded in a store below `directory`. UsageError unless it fails as it should."""
    from arci.run.single import choose_trial, make_one
    from arci.store.writer import RunWriter

    job = await through((load, place, resolve_and_seal), Job(RunOptions(order.source)))
    assert job.isolation is not None
    assert job.document is not None
    about: Mapping[str, Any] = job.manifest.volatile.get("reproduces", {})
    arm = str(about.get("arm", "candidate")) if order.trial_id is None else order.trial_id.rpartition(":")[2]
    trial = choose_trial(job.manifest, arm=arm, condition=None, index=0)
    notice(f"Making {trial.trial_id}.")
    result = await make_one(job.manifest, job.isolation, trial)
    wanted, record = about.get("fingerprint"), result.record
    if order.trial_id is None and wanted is not None and record["fingerprint"] != wanted:
        raise UsageError(
            f"{order.source}: was {record['outcome']} {record['ending']} this time; {wanted} was to be bundled.",
            hint="an agent that is not deterministic may need another try",
        )
    with RunWriter.create(directory, job.document, str(uuid.uuid4())) as writer:
        writer.started(trial.trial_id, 1)
        writer.append(record, result.events, result.logs)
        return writer.directory, trial.trial_id


@asynccontextmanager
async def _images(run: Path, trial_id: str) -> AsyncIterator[ImageSource | None]:
    """Where the images of a docker run come from, ARCI's own runtime with them; None for a process run."""
    from arci.diagnose.rerun import read_recorded

    recorded = read_recorded(run, trial_id)
    if recorded.manifest.isolation.backend != "docker":
        yield None
        return
    from arci.bundle.engine_images import find_images
    from arci.isolation.docker.engine import connect
    from arci.isolation.docker.runtime import ensure_runtime

    engine = await connect()
    try:
        runtime = await ensure_runtime(engine)
        yield await find_images(engine, recorded.manifest, recorded.trial.arm, where=str(run), runtime=runtime.image_id)
    finally:
        engine.close()
