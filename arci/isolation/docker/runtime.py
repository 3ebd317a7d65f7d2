"""What ARCI itself runs inside containers: an image, and one read-only volume filled from it, keyed by content."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import docker

from arci.errors import EngineError
from arci.isolation.docker.base_image import Notice, base_tag, ensure_base, find_image
from arci.isolation.docker.build import BuildRequest, build
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.payload import runtime_context, runtime_sha256
from arci.isolation.docker.recipes import KIND
from arci.model.canonical import digest

__all__ = ["Runtime", "ensure_runtime", "runtime_sha256"]

_ROOT = "/opt/arci"
_CALL_S = 60.0
_FILL_S = 180


@dataclass(frozen=True, slots=True)
class Runtime:
    """`image_id` is the engine's own. `volume` is mounted read-only at /opt/arci in every guest but a holder."""

    image_id: str
    volume: str
    runtime_sha256: str


async def ensure_runtime(engine: Engine, notice: Notice = lambda text: None) -> Runtime:
    """The image and its volume, made if they are missing. The second call costs two inspects.

    A volume counts only once its content was verified from inside it: that is when the image gets the tag that names
    it. What was left half-filled, by a crash or a full disk, has no such tag and is never used.
    """
    tag = runtime_tag()
    image = await find_image(engine, tag)
    if image is None:
        await _build_image(engine, tag, notice)
        image = await find_image(engine, tag)
        if image is None:
            raise EngineError("make the runtime image", f"{tag} is not on the engine after its build.")
    volume = await _published(engine, tag, image)
    if volume is None:
        notice("Filling the runtime volume.")
        volume = await _fill(engine, tag, image["Id"])
    return Runtime(image["Id"], volume, runtime_sha256())


def runtime_tag() -> str:
    """The image's name on an engine: what runs inside, and the recipe of what it runs on."""
    return f"arci/runtime:{digest([runtime_sha256(), base_tag()])[:12]}"


def volume_of(published: str) -> str:
    """`arci/runtime:<key>-<suffix>` -> the volume that this tag declares whole. Pure."""
    return f"arci-runtime-{published.partition(':')[2]}"


async def _published(engine: Engine, tag: str, image: Mapping[str, Any]) -> str | None:
    for name in sorted(image.get("RepoTags") or ()):
        if not name.removeprefix("docker.io/").startswith(f"{tag}-"):
            continue
        volume = volume_of(name)
        try:
            found = await engine.call(
                "inspect the runtime volume", engine.api.inspect_volume, volume, timeout_s=_CALL_S
            )
        except EngineError as error:
            if error.status != 404:
                raise
            continue
        # An engine makes an empty volume of any name that a container asks for; ours carries its label.
        if (found.get("Labels") or {}).get(KIND) == "runtime":
            return volume
    return None


async def _fill(engine: Engine, tag: str, image_id: str) -> str:
    published = f"{tag}-{secrets.token_hex(4)}"
    volume = volume_of(published)
    await engine.call("fill the runtime volume", _fill_and_check, engine.api, image_id, volume, timeout_s=_FILL_S)
    repository, _, name = published.partition(":")
    await engine.call("tag the runtime image", engine.api.tag, image_id, repository, name, timeout_s=_CALL_S)
    return volume


def _fill_and_check(api: docker.APIClient, image_id: str, volume: str) -> None:
    """The engine copies the image's /opt/arci into the empty volume; a container of ours then checks it there."""
    api.create_volume(volume, labels={KIND: "runtime"})
    try:
        _check(api, image_id, volume)
    except BaseException:
        api.remove_volume(volume, force=True)
        raise


def _check(api: docker.APIClient, image_id: str, volume: str) -> None:
    create: Any = api.create_container_from_config  # untyped in the library's stubs
    container = create(_checker(image_id, volume))["Id"]
    try:
        api.start(container)
        code = api.wait(container, timeout=_FILL_S)["StatusCode"]
        said = api.logs(container)
    finally:
        api.remove_container(container, v=True, force=True)
    if code != 0 or not said.startswith(b"whole "):
        raise docker.errors.DockerException(f"its check ended with {code} and said {said[-500:]!r}")


def _checker(image_id: str, volume: str) -> dict[str, Any]:
    # Labelled like a holder: alive while it runs, and swept with its run if we die meanwhile.
    owned = labels(str(uuid.uuid4()), "runtime", HOLDER)
    return {
        "Image": image_id,
        "Entrypoint": ["python3", "-I", "-S", f"{_ROOT}/seal.py"],
        "Cmd": ["check"],
        "Labels": owned,
        "HostConfig": {
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "NetworkMode": "none",
            "LogConfig": {"Type": "json-file"},
            "Mounts": [{"Type": "volume", "Source": volume, "Target": _ROOT, "ReadOnly": False}],
        },
    }


async def _build_image(engine: Engine, tag: str, notice: Notice) -> None:
    base = await ensure_base(engine, notice)
    notice("Building the runtime image.")
    version = await engine.call("ask the engine's version", engine.api.version, timeout_s=_CALL_S)
    context = runtime_context(version["Arch"])
    await build(engine, BytesIO(context), BuildRequest(tag, {KIND: "runtime"}, {"BASE": base}))
