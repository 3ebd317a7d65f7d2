"""The images of a trial on the engine that ran it: found by identity, described, and streamed out as one archive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, TypeVar

from arci.bundle.images import RUNTIME, trial_keys
from arci.bundle.packing import as_file
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images_identity import image_identity
from arci.isolation.docker.images_locate import locate_images
from arci.model.manifest import Manifest

__all__ = ["EngineImages", "ImageSource", "SourceImage", "find_images"]

T = TypeVar("T")

_CALL_S = 60.0
_TRANSFER_S = 3600
_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceImage:
    """One image where it comes from. `id` is the engine's own."""

    id: str
    identity: dict[str, str]
    references: tuple[str, ...]
    """`name@sha256:...`: where registries have it."""


class ImageSource(Protocol):
    """Where a bundle's images come from."""

    async def describe(self) -> Mapping[str, SourceImage]:
        """Key -> image, for every key of the trial, and `runtime` where there is one."""

    async def archive(self, ids: Sequence[str], take: Callable[[BinaryIO], T]) -> T:
        """`take`, in a worker thread, of a stream of one archive that holds the images."""


class EngineImages:
    """An engine's images. `refs`: key -> id."""

    def __init__(self, engine: Engine, refs: Mapping[str, str]) -> None:
        self._engine = engine
        self._refs = dict(refs)

    async def describe(self) -> dict[str, SourceImage]:
        found: dict[str, SourceImage] = {}
        for key, ref in self._refs.items():
            api = self._engine.api
            inspect = await self._engine.call("inspect an image", api.inspect_image, ref, timeout_s=_CALL_S)
            references = tuple(sorted(inspect.get("RepoDigests") or ()))
            found[key] = SourceImage(inspect["Id"], image_identity(inspect), references)
        return found

    async def archive(self, ids: Sequence[str], take: Callable[[BinaryIO], T]) -> T:
        names = sorted(set(ids))  # by id, so no name of this engine is in the archive
        return await self._engine.call("save images", _save, self._engine.api, names, take, timeout_s=_TRANSFER_S)


async def find_images(
    engine: Engine, manifest: Manifest, arm: str, *, where: str, runtime: str | None = None
) -> EngineImages:
    """The images of a trial of that arm. `runtime`: the id of ARCI's own runtime image, which a bundle for engines
    without one carries too. SpecError naming every image that the engine does not have any more (`where`: the run)."""
    keys = trial_keys(manifest, arm)
    other = next(name for name in manifest.arms if name != arm)
    # The other arm's image is no part of the trial, and need not be here.
    identities = {**manifest.images, other: manifest.images[arm]}
    refs = {key: ref for key, ref in manifest.volatile.get("image_refs", {}).items() if key in keys}
    found = await locate_images(engine, identities, refs, where=where)
    ids = {key: found[key] for key in keys}
    return EngineImages(engine, ids if runtime is None else {**ids, RUNTIME: runtime})


def _save(api: Any, names: Sequence[str], take: Callable[[BinaryIO], T]) -> T:
    url = f"{api.base_url}/v{api.api_version}/images/get"
    with api.get(url, params={"names": list(names)}, stream=True, timeout=_TRANSFER_S) as answer:
        answer.raise_for_status()
        return take(as_file(answer.iter_content(_STEP)))
