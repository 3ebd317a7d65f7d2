"""What a run is made of, as identities: found for a descriptor that is to be sealed, held against one that was.

Between `api` and the back ends: the only place that knows which of them resolves images and which source trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arci.errors import Problem, SpecError
from arci.isolation.docker.payload import runtime_sha256
from arci.manifest.descriptor import Descriptor
from arci.manifest.images import image_requests
from arci.model.manifest import Manifest

__all__ = ["hold_to_seal", "identities", "runtime_sha256"]

Notice = Callable[[str], None]


async def identities(
    descriptor: Descriptor, *, build_ca: Path | None, notice: Notice
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest's `images`, and what of them holds on this machine alone. SpecError for what cannot be had."""
    if descriptor.backend == "docker":
        return await _engine_identities(descriptor, build_ca, notice)
    return _process_identities(descriptor.root, descriptor.sources), {}


async def hold_to_seal(document: Mapping[str, Any], *, where: str) -> Mapping[str, Any]:
    """The sealed document with this engine's ids of its images. SpecError where what is here is not what was sealed."""
    manifest = Manifest.from_document(document)
    sealed, own = manifest.runtime_sha256, runtime_sha256()
    if sealed != own:
        message = f"{sealed[:12]} was sealed, this arci runs {own[:12]}; the same is required."
        raise SpecError([Problem(where, "runtime_sha256", message, "install the version that sealed it, or seal anew")])
    if manifest.isolation.backend == "docker":
        refs = await _located(manifest, where)
        return {**document, "volatile": {**manifest.volatile, "image_refs": refs}}
    _compare_sources(manifest, where)
    return document


async def _located(manifest: Manifest, where: str) -> dict[str, str]:
    from arci.isolation.docker.engine import connect
    from arci.isolation.docker.images_locate import locate_images

    engine = await connect()
    try:
        return await locate_images(engine, manifest.images, manifest.volatile.get("image_refs", {}), where=where)
    finally:
        engine.close()


def _compare_sources(manifest: Manifest, where: str) -> None:
    sources = {**{name: arm.source for name, arm in manifest.arms.items()}, "project": manifest.project_source}
    found = _process_identities(Path(manifest.volatile.get("root", ".")), sources)
    message = "is not what was sealed; the same sources, interpreter and distributions are required."
    problems = [Problem(where, f"images.{key}", message) for key in found if found[key] != manifest.images.get(key)]
    if problems:
        raise SpecError(problems)


def _process_identities(root: Path, sources: dict[str, str]) -> dict[str, Any]:
    from arci.manifest.identity import process_images

    try:
        return process_images(root, sources)
    except OSError as error:
        raise SpecError([Problem(str(error.filename or root), "", f"cannot be read: {error}")]) from None


async def _engine_identities(
    descriptor: Descriptor, build_ca: Path | None, notice: Notice
) -> tuple[dict[str, Any], dict[str, Any]]:
    from arci.isolation.docker.engine import connect
    from arci.isolation.docker.images import resolve_images

    engine = await connect()
    try:
        notice(f"Engine: {engine.endpoint} ({engine.why}).")
        found = await resolve_images(
            engine,
            image_requests(descriptor),
            build_ca=build_ca,
            platform=descriptor.document["isolation"]["platform"],
            where=str(descriptor.path),
            notice=notice,
        )
    finally:
        engine.close()
    images = {key: image.identity for key, image in found.items()}
    return images, {"image_refs": {key: image.id for key, image in found.items()}}
