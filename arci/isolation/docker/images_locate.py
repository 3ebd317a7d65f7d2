"""The images of a manifest that was sealed before, perhaps elsewhere: found by identity, never by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arci.errors import EngineError, Problem, SpecError
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images_identity import image_identity
from arci.manifest.images import IMAGE_KEYS

__all__ = ["locate_images"]

_CALL_S = 60.0


async def locate_images(
    engine: Engine, identities: Mapping[str, Mapping[str, Any]], refs: Mapping[str, str], *, where: str
) -> dict[str, str]:
    """Key -> this engine's id of the image that has the sealed identity. `refs`: where it was when it was sealed.

    SpecError with every image that this engine does not have.
    """
    keys = (*IMAGE_KEYS, *(key for key in identities if key not in IMAGE_KEYS))  # and those of servers
    wanted = {key: str(identities[key]["sha256"]) for key in keys}
    known: dict[str, str] = {}
    for ref in dict.fromkeys(refs.values()):
        known |= await _identified(engine, ref)
    if not set(wanted.values()) <= set(known):
        rows = await engine.call("list images", engine.api.images, timeout_s=_CALL_S)
        for row in rows:
            known |= await _identified(engine, row["Id"])
    problems = [
        Problem(
            where,
            f"images.{key}",
            f"identity {sha256[:12]} is on no image of this engine; the images that were sealed are required.",
            "arci images load FILE, with what arci images save wrote where it was sealed",
        )
        for key, sha256 in wanted.items()
        if sha256 not in known
    ]
    if problems:
        raise SpecError(problems)
    return {key: known[sha256] for key, sha256 in wanted.items()}


async def _identified(engine: Engine, ref: str) -> dict[str, str]:
    """Identity -> id of one image; nothing if it is not there (any more)."""
    try:
        inspect = await engine.call("inspect an image", engine.api.inspect_image, ref, timeout_s=_CALL_S)
    except EngineError as error:
        if error.status != 404:
            raise
        return {}
    return {image_identity(inspect)["sha256"]: inspect["Id"]}
