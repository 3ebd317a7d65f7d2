"""A bundle replayed: trusted or refused, its sources or images put where they can run, and everything removed again."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from arci.bundle.document import BundleDocument
from arci.bundle.images import RUNTIME
from arci.bundle.neutral import own_isolation
from arci.bundle.read import Bundle, read_bundle
from arci.bundle.refusal import BundleError
from arci.bundle.trust import made_here, own_key
from arci.diagnose.replaying import Reproduction, Verdict, replay_trial
from arci.errors import EngineError, SpecError, UsageError
from arci.isolation.base import Isolation
from arci.manifest.identity import distributions, interpreter
from arci.run.witness import Witness

__all__ = ["replay_bundle"]

Notice = Callable[[str], None]


async def replay_bundle(
    path: Path,
    *,
    backend: str | None = None,
    is_trusted: bool = False,
    notice: Notice = lambda text: None,
    witness: Witness | None = None,
) -> Reproduction:
    """The verdict on the failure in the bundle `path`. `backend`: what it must have been made on. `is_trusted`: the
    user says so; else it must carry the signature of this user's own key.

    What does not hold in it, or cannot be had here, is INVALID. UsageError where it may not be run; EngineUnavailable.
    """
    with ExitStack() as stack:
        try:
            bundle = await to_thread.run_sync(stack.enter_context, read_bundle(path))
            _check(bundle, backend, is_trusted=is_trusted)
            async with _placed(bundle, notice) as (isolation, volatile):
                notice(f"Replaying {bundle.trial.trial_id}: agent and grader run, the rest is answered as recorded.")
                return await replay_trial(
                    bundle.manifest,
                    bundle.trial,
                    bundle.record,
                    bundle.events(),
                    isolation,
                    volatile=volatile,
                    witness=witness,
                )
        except (BundleError, EngineError, SpecError) as error:
            return Reproduction(Verdict.INVALID, str(error), {})


def _check(bundle: Bundle, backend: str | None, *, is_trusted: bool) -> None:
    document = bundle.document
    if backend is not None and backend != document.isolation:
        holds = "the source tree and no image" if document.isolation == "process" else "images and no source tree"
        raise UsageError(f"--isolation {backend}: the bundle is of a {document.isolation} run: it holds {holds}.")
    if not is_trusted and not made_here(document, own_key(make=False)):
        raise UsageError(
            f"{bundle.path}: was not made by you on this machine, and a replay runs {_what_runs(document)}; "
            "--trust is required.",
            hint=f"arci bundle --list {bundle.path} shows what is inside; then add --trust",
        )


def _what_runs(document: BundleDocument) -> str:
    if document.isolation == "process":
        return "its code as yours, with your files in reach"
    return "its images in containers without network and capabilities"


@asynccontextmanager
async def _placed(bundle: Bundle, notice: Notice) -> AsyncIterator[tuple[Isolation, Mapping[str, Any]]]:
    """The back end to replay on, and what of the manifest's `volatile` holds on it."""
    if bundle.document.isolation == "process":
        with tempfile.TemporaryDirectory(prefix="arci-replay-") as directory:
            yield await _process(bundle, Path(directory), notice)
    else:
        async with _docker(bundle, notice) as placed:
            yield placed


async def _process(bundle: Bundle, directory: Path, notice: Notice) -> tuple[Isolation, Mapping[str, Any]]:
    from arci.isolation.process.isolation import ProcessIsolation

    sources = directory / "sources"
    sources.mkdir()
    root = await to_thread.run_sync(bundle.extract_source, sources)
    here = {"interpreter": interpreter(), "distributions": await to_thread.run_sync(distributions)}
    for name, found in here.items():
        if found != bundle.manifest.images.get(name):
            notice(f"warning: {name}: not what was recorded; a difference in behaviour may come from there.")
    return ProcessIsolation(), {"root": str(root)}


@asynccontextmanager
async def _docker(bundle: Bundle, notice: Notice) -> AsyncIterator[tuple[Isolation, Mapping[str, Any]]]:
    from arci.bundle.load import load_images, remove_loaded
    from arci.isolation.docker.engine import connect
    from arci.isolation.docker.isolation import DockerIsolation
    from arci.isolation.docker.lent import forget_bytecode, lent_runtime

    engine = await connect()
    try:
        notice("Loading the images that this engine has not.")
        loaded = await load_images(bundle, engine)
        try:
            limits = own_isolation("docker")
            async with lent_runtime(engine, loaded.images.get(RUNTIME), limits) as runtime:
                yield DockerIsolation(engine, runtime), {"image_refs": _references(bundle, loaded.images)}
        finally:
            with anyio.CancelScope(shield=True):
                await forget_bytecode(engine, loaded.fresh)
                for kept in await remove_loaded(engine, loaded):
                    notice(f"warning: image {kept} stays: something uses it.")
    finally:
        engine.close()


def _references(bundle: Bundle, images: Mapping[str, str]) -> dict[str, str]:
    """The arm that is not in the bundle is never started; it is named all the same."""
    own = images[bundle.document.arm]
    named = {key: image for key, image in images.items() if key != RUNTIME}
    return {**dict.fromkeys(bundle.manifest.arms, own), **named}
