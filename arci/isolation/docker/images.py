"""The images of a descriptor, resolved on an engine: looked up, pulled or built, checked, and identified."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.errors import EngineError, Problem, SpecError, UsageError
from arci.isolation.docker.base_image import Notice, find_image
from arci.isolation.docker.build import BuildFailed
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images_build import ensure_project_image
from arci.isolation.docker.images_identity import image_identity, image_platform, normal_platform
from arci.isolation.docker.pull import pull
from arci.manifest.images import ImageRequest

__all__ = ["ResolvedImage", "read_build_ca", "resolve_images"]

_CALL_S = 60.0


@dataclass(frozen=True, slots=True)
class ResolvedImage:
    """An image that is on the engine. `id` is the engine's own; `identity` is the same on every engine."""

    id: str
    identity: dict[str, str]
    reference: str
    """Its name on this engine."""
    user: str
    workdir: str
    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...]
    volumes: tuple[str, ...]
    env: dict[str, str]

    @classmethod
    def from_inspect(cls, reference: str, inspect: Mapping[str, Any]) -> ResolvedImage:
        """From the engine's `GET /images/{id}/json`; empty and null alike."""
        config = inspect.get("Config") or {}
        return cls(
            id=inspect["Id"],
            identity=image_identity(inspect),
            reference=reference,
            user=config.get("User") or "",
            workdir=config.get("WorkingDir") or "/",
            entrypoint=tuple(config.get("Entrypoint") or ()),
            cmd=tuple(config.get("Cmd") or ()),
            volumes=tuple(sorted(config.get("Volumes") or ())),
            env=dict(pair.partition("=")[::2] for pair in config.get("Env") or ()),
        )


async def resolve_images(
    engine: Engine,
    requests: Mapping[str, ImageRequest],
    *,
    build_ca: Path | None = None,
    platform: str | None = None,
    where: str = "images",
    notice: Notice = lambda text: None,
) -> dict[str, ResolvedImage]:
    """Key of `requests` -> its image; equal requests are resolved once.

    SpecError with every image that cannot be had (`where`: the descriptor's file); EngineError if the engine fails.
    `platform` is what the images must be for; the engine's own if None. `build_ca`: see `read_build_ca`.
    """
    bundle = read_build_ca(build_ca)
    wanted = normal_platform(platform) if platform is not None else await _engine_platform(engine)
    found: dict[ImageRequest, ResolvedImage | str] = {}
    for request in requests.values():
        if request not in found:
            found[request] = await _resolve(engine, request, platform, wanted, bundle, notice)
    problems = [Problem(where, key, text) for key, r in requests.items() if isinstance(text := found[r], str)]
    if problems:
        raise SpecError(problems)
    return {key: image for key, r in requests.items() if isinstance(image := found[r], ResolvedImage)}


def read_build_ca(option: Path | None) -> bytes | None:
    """The CA bundle for builds: the option's file, else that of `ARCI_BUILD_CA_BUNDLE`. UsageError if unreadable."""
    path = option or (Path(named) if (named := os.environ.get("ARCI_BUILD_CA_BUNDLE")) else None)
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"CA bundle for builds: {path} cannot be read: {error.strerror}; a PEM file.") from None


async def _engine_platform(engine: Engine) -> str:
    version = await engine.call("ask the engine's version", engine.api.version, timeout_s=_CALL_S)
    return normal_platform(f"{version['Os']}/{version['Arch']}")


async def _resolve(
    engine: Engine, request: ImageRequest, platform: str | None, wanted: str, bundle: bytes | None, notice: Notice
) -> ResolvedImage | str:
    """The image, or what is wrong with it in one sentence."""
    inspect: dict[str, Any] | str | None
    try:
        if request.kind == "build":
            reference = await ensure_project_image(engine, request, platform=platform, build_ca=bundle, notice=notice)
            inspect = await find_image(engine, reference)
        else:
            reference = str(request.reference)
            inspect = await _found_or_pulled(engine, reference, platform, notice)
    except BuildFailed as error:
        return f"cannot be built from {request.context}: {error.message}"
    except OSError as error:
        return f"its build context {request.context} cannot be read: {error}."
    if inspect is None:
        return f"image {reference!r} is neither on the engine nor to be had: it was not there after it was pulled."
    if isinstance(inspect, str):
        return inspect
    if not _is_for(image_platform(inspect), wanted):
        return f"image {reference!r} is for {image_platform(inspect)}; {wanted} is what will run it."
    return ResolvedImage.from_inspect(reference, inspect)


async def _found_or_pulled(
    engine: Engine, reference: str, platform: str | None, notice: Notice
) -> dict[str, Any] | str | None:
    found = await find_image(engine, reference)
    if found is not None:
        return found
    notice(f"Pulling {reference}.")
    try:
        await pull(engine, reference, platform=platform)
    except EngineError as error:
        return f"image {reference!r} is neither on the engine nor to be had: {error.message}"
    return await find_image(engine, reference)


def _is_for(platform: str, wanted: str) -> bool:
    """An image without a variant suits every variant, and a wish without one takes any."""
    have, want = platform.split("/"), wanted.split("/")
    return have[:2] == want[:2] and (len(have) < 3 or len(want) < 3 or have[2] == want[2])
