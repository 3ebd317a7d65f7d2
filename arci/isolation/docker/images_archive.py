"""Image archives (`docker save`): what is in one, read without unpacking it, and the two ways through the engine."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import docker

from arci.errors import EngineError, UsageError
from arci.isolation.docker.base_image import find_image
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images_identity import image_identity

__all__ = ["archive_identities", "load_images", "save_images"]

_TRANSFER_S = 3600
_JSON_BYTES = 16 << 20
"""More than any image's configuration; what is larger is not read."""


async def save_images(engine: Engine, references: Sequence[str], out: Path) -> int:
    """Write the images with their names into one archive; its size in bytes. The file appears only when it is whole."""
    missing = [reference for reference in references if await find_image(engine, reference) is None]
    if missing or not references:
        raise UsageError(f"images to save: {', '.join(missing) or 'none'}; names of images on the engine are required.")
    return await engine.call("save images", _save, engine.api, tuple(references), out, timeout_s=_TRANSFER_S)


def _save(api: docker.APIClient, references: Sequence[str], out: Path) -> int:
    part = out.with_name(f".{out.name}.part")
    url = f"{api.base_url}/v{api.api_version}/images/get"
    try:
        with api.get(url, params={"names": list(references)}, stream=True, timeout=_TRANSFER_S) as answer:
            answer.raise_for_status()
            with part.open("wb") as file:
                for chunk in answer.iter_content(1 << 20):
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return out.stat().st_size


async def load_images(engine: Engine, file: Path, *, replace: bool = False) -> dict[str, dict[str, str]]:
    """Load an archive: name -> identity of every image that it names, checked on the engine afterwards.

    Loading moves a name that stands for another image here, without a word; so that is refused (UsageError) before
    anything is loaded, unless `replace`.
    """
    wanted = archive_identities(file)
    there = {name: await find_image(engine, name) for name in wanted}
    moved = [name for name, image in there.items() if image is not None and image_identity(image) != wanted[name]]
    if moved and not replace:
        raise UsageError(
            f"{file}: {', '.join(moved)} stands for another image on this engine.",
            hint="arci images load --replace, which moves the name to the loaded image",
        )
    await engine.call("load images", _load, engine.api, file, timeout_s=_TRANSFER_S)
    for name, identity in wanted.items():
        image = await find_image(engine, name)
        if image is None or image_identity(image) != identity:
            raise EngineError("load images", f"{name} is not on the engine as {file} has it.")
    return wanted


def _load(api: docker.APIClient, file: Path) -> None:
    load: Any = api.load_image  # untyped in the library's stubs
    with file.open("rb") as data:
        for message in load(data) or ():
            if "error" in message:
                raise docker.errors.DockerException(message["error"])


def archive_identities(file: Path) -> dict[str, dict[str, str]]:
    """Name -> identity of the images in an archive. UsageError if it is none. The archive's other contents are not
    looked at: the engine checks layers against the configuration when it loads them."""
    try:
        with tarfile.open(file) as tar:
            entries = _member_json(tar, "manifest.json")
            found = {
                name: image_identity(_as_inspected(_member_json(tar, entry["Config"])))
                for entry in entries
                for name in entry.get("RepoTags") or ()
            }
    except (OSError, tarfile.TarError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{file}: is not an image archive ({error}); one that `arci images save` wrote.") from None
    if not found:
        raise UsageError(f"{file}: names no image; an archive that `arci images save` wrote names each.")
    return found


def _member_json(tar: tarfile.TarFile, name: str) -> Any:
    member = tar.getmember(name)
    if not member.isfile() or member.size > _JSON_BYTES:
        raise ValueError(f"{name} is not a file of reasonable size")
    data = tar.extractfile(member)
    assert data is not None  # it is a regular file
    return json.load(data)


def _as_inspected(config: Mapping[str, Any]) -> dict[str, Any]:
    """An image's own configuration in the shape in which an engine describes it. Pure."""
    return {
        "Os": config["os"],
        "Architecture": config["architecture"],
        "Variant": config.get("variant"),
        "RootFS": {"Layers": config["rootfs"]["diff_ids"]},
        "Config": config.get("config"),
    }
