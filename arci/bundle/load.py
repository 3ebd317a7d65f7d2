"""Give a bundle's images to an engine that has none of them, without a name, and find there what it made of them.

What is already there by identity is not loaded again. No tag is in what the engine is given, so none can move.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import anyio

from arci.bundle.bundle import Bundle
from arci.bundle.image_config import IDENTITY_LABEL, ImageConfig, loadable
from arci.bundle.images import RUNTIME, BundledImage
from arci.bundle.refusal import BundleError
from arci.bundle.tar import END, padding
from arci.errors import EngineError
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images_identity import image_identity, normal_platform
from arci.isolation.docker.images_locate import locate_images
from arci.isolation.docker.pull import pull
from arci.model.canonical import canonical, digest_bytes

__all__ = ["Loaded", "load_archive", "load_images", "remove_loaded", "replay_refs"]

_CALL_S = 60.0
_REMOVE_S = 300.0
_TRANSFER_S = 3600


@dataclass(frozen=True, slots=True)
class Loaded:
    """`images`: key of the bundle -> the engine's id. `fresh`: ids that were not there before."""

    images: Mapping[str, str]
    fresh: tuple[str, ...]


async def load_images(bundle: Bundle, engine: Engine) -> Loaded:
    """Every image of a docker bundle on this engine, by identity. Referenced ones are pulled where they are missing.

    BundleError for another platform, before anything is loaded; EngineError if the engine fails, or has not what it
    was given; then nothing that was loaded stays.
    """
    await _refuse_foreign(bundle, engine)
    if any(image.config is None for image in bundle.images.values()):
        return await _pulled(bundle, engine)
    wanted = {image.sha256: image for image in bundle.images.values()}
    there = {sha256: await _find(engine, image) for sha256, image in wanted.items()}
    missing = [wanted[sha256] for sha256, found in there.items() if found is None]
    if missing:
        there |= await _load_missing(bundle, engine, missing)
    images = {key: str(there[image.sha256]) for key, image in bundle.images.items()}
    return Loaded(images, tuple(str(there[image.sha256]) for image in missing))


def replay_refs(bundle: Bundle, loaded: Loaded) -> dict[str, str]:
    """`image_refs` for the manifest that is replayed. The other arm's image is not in a bundle and nothing of that arm
    runs, so its key stands for the image of the trial's own arm. Pure."""
    refs = {key: image_id for key, image_id in loaded.images.items() if key != RUNTIME}
    return {**dict.fromkeys(bundle.manifest.arms, refs[bundle.document.arm]), **refs}


async def remove_loaded(engine: Engine, loaded: Loaded) -> tuple[str, ...]:
    """Remove what `load_images` brought; the ids of what stays because something uses it."""
    kept = []
    for image_id in loaded.fresh:
        try:
            await engine.call("remove an image", engine.api.remove_image, image_id, timeout_s=_REMOVE_S)
        except EngineError as error:
            if error.status == 409:
                kept.append(image_id)
            elif error.status != 404:
                raise
    return tuple(kept)


async def _refuse_foreign(bundle: Bundle, engine: Engine) -> None:
    version = await engine.call("ask the engine's version", engine.api.version, timeout_s=_CALL_S)
    own = normal_platform(f"{version['Os']}/{version['Arch']}")
    for key, image in bundle.images.items():
        platform = normal_platform(image.entry.identity["platform"])
        if platform.split("/")[:2] != own.split("/")[:2]:
            raise BundleError(f"{bundle.path}: images.{key}: is for {platform}; the engine runs {own}.")


async def _load_missing(bundle: Bundle, engine: Engine, missing: list[BundledImage]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    try:
        await engine.call("load images", _load, engine.api, bundle, missing, timeout_s=_TRANSFER_S)
        for image in missing:
            found[image.sha256] = await _find(engine, image)
            if found[image.sha256] is None:
                raise EngineError("load images", f"identity {image.sha256[:12]} is not on the engine afterwards.")
    except BaseException:
        with anyio.CancelScope(shield=True):
            here = [await _find(engine, image) for image in missing]
            await remove_loaded(engine, Loaded({}, tuple(i for i in here if i is not None)))
        raise
    return found


def _load(api: Any, bundle: Bundle, images: Iterable[BundledImage]) -> None:
    configs = [image.config for image in images if image.config is not None]
    # What an engine says of a load differs from one to the next; what is there afterwards is what counts.
    for message in api.load_image(load_archive(bundle, configs)) or ():
        if "error" in message:
            raise EngineError("load images", str(message["error"]))


def load_archive(bundle: Bundle, configs: Iterable[ImageConfig]) -> Iterator[bytes]:
    """What `docker load` reads: each layer once, the reduced configurations, no names."""
    documents = {f"{digest_bytes(data)}.json": (data, config) for config in configs for data in [loadable(config)]}
    index = [
        {"Config": name, "RepoTags": None, "Layers": [f"{layer}/layer.tar" for layer in config.layers]}
        for name, (_, config) in sorted(documents.items())
    ]
    yield from _member("manifest.json", canonical(index))
    for name, (data, _) in sorted(documents.items()):
        yield from _member(name, data)
    for layer in sorted({layer for _, config in documents.values() for layer in config.layers}):
        size = bundle.document.layers[layer].bytes
        yield _header(f"{layer}/layer.tar", size)
        yield from bundle.layer(layer)
        yield padding(size)
    yield END


def _member(name: str, data: bytes) -> Iterator[bytes]:
    yield _header(name, len(data))
    yield data
    yield padding(len(data))


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o644
    return info.tobuf(tarfile.GNU_FORMAT)  # a layer may be larger than a plain header can say


async def _find(engine: Engine, image: BundledImage) -> str | None:
    """The engine's id of an image of that identity: the original, or one that a bundle brought before."""
    filters = {"label": f"{IDENTITY_LABEL}={image.sha256}"}
    rows = await engine.call("list images", engine.api.images, filters=filters, timeout_s=_CALL_S)
    for ref in (f"sha256:{image.entry.config}", *(row["Id"] for row in rows)):
        try:
            inspect = await engine.call("inspect an image", engine.api.inspect_image, ref, timeout_s=_CALL_S)
        except EngineError as error:
            if error.status != 404:
                raise
            continue
        if image_identity(inspect) == image.entry.identity:
            return str(inspect["Id"])
    return None


async def _pulled(bundle: Bundle, engine: Engine) -> Loaded:
    """Referenced images: what the engine has by identity, else what a registry answers under their digests."""
    identities = {key: image.entry.identity for key, image in bundle.images.items()}
    for image in bundle.images.values():
        await _pull_one(engine, image)
    other = next(arm for arm in bundle.manifest.arms if arm != bundle.document.arm)
    every = {**identities, other: identities[bundle.document.arm]}
    refs = {key: image.entry.references[0] for key, image in bundle.images.items()}
    found = await locate_images(engine, every, refs, where=str(bundle.path))
    return Loaded({key: found[key] for key in identities if key != RUNTIME}, ())


async def _pull_one(engine: Engine, image: BundledImage) -> None:
    """By digest, which moves no tag. What cannot be pulled may still be there under another name."""
    for reference in image.entry.references:
        try:
            await engine.call("inspect an image", engine.api.inspect_image, reference, timeout_s=_CALL_S)
            return
        except EngineError:
            pass
        try:
            await pull(engine, reference, platform=None)
            return
        except EngineError:
            continue
