"""An image's own configuration: read as hostile, identified, and reduced to what a replay may load. Pure.

What is loaded has the same identity, which covers layers, platform and the fields that change how a program runs, and
nothing else of the original: no health check, no trigger, no label, no history.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arci.bundle.refusal import BundleError
from arci.isolation.docker.images_identity import image_identity
from arci.isolation.docker.recipes import KIND
from arci.manifest.strict_json import parse_json
from arci.model.canonical import canonical

__all__ = ["IDENTITY_LABEL", "ImageConfig", "loadable", "parse_config"]

IDENTITY_LABEL = "dev.arci.identity"
"""Label of images that came out of a bundle: their identity, by which they are found on any kind of engine."""

_MOST_DEPTH = 32
_MOST_LAYERS = 256
DiffId = Annotated[str, Field(pattern=re.compile(r"^sha256:[0-9a-f]{64}\Z"))]


class _Known(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _Behaviour(_Known):
    """The fields that an image's identity covers."""

    ArgsEscaped: bool | None = None
    Cmd: list[str] | None = None
    Entrypoint: list[str] | None = None
    Env: list[str] | None = None
    Shell: list[str] | None = None
    StopSignal: str | None = None
    User: str | None = None
    Volumes: dict[str, dict[str, Any] | None] | None = None
    WorkingDir: str | None = None


class _RootFs(_Known):
    type: str
    diff_ids: Annotated[list[DiffId], Field(max_length=_MOST_LAYERS)]


class _Image(_Known):
    architecture: str
    os: str
    variant: str | None = None
    rootfs: _RootFs
    config: _Behaviour | None = None


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """A configuration that can be read, and what it says the image is."""

    identity: dict[str, str]
    layers: tuple[str, ...]
    """Diff ids without `sha256:`, the lowest first."""
    behaviour: Mapping[str, Any]
    """The known fields that have a value."""
    architecture: str
    os: str
    variant: str | None


def parse_config(data: bytes) -> ImageConfig:
    """BundleError for what is no image's configuration, or holds volumes that no engine would have written."""
    try:
        image = _Image.model_validate(parse_json(data, max_depth=_MOST_DEPTH))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:200]
        raise BundleError(f"an image's configuration: {where}: {first['msg']}.") from None
    except ValueError as error:
        raise BundleError(f"an image's configuration: {error}") from None
    behaviour = (image.config or _Behaviour()).model_dump(exclude_none=True)
    for path in behaviour.get("Volumes", ()):
        if not path.startswith("/") or posixpath.normpath(path) != path.rstrip("/") or "\0" in path:
            raise BundleError(f"an image's configuration: volume {path!r}; an absolute path below / is allowed.")
    inspected = {
        "Os": image.os,
        "Architecture": image.architecture,
        "Variant": image.variant,
        "RootFS": {"Layers": image.rootfs.diff_ids},
        "Config": behaviour,
    }
    layers = tuple(diff_id.removeprefix("sha256:") for diff_id in image.rootfs.diff_ids)
    return ImageConfig(image_identity(inspected), layers, behaviour, image.architecture, image.os, image.variant)


def loadable(config: ImageConfig) -> bytes:
    """The configuration to give to an engine: the same identity, labelled as ours, everything else left out."""
    labels = {KIND: "bundle", IDENTITY_LABEL: config.identity["sha256"]}
    document = {
        "architecture": config.architecture,
        "os": config.os,
        "config": {**config.behaviour, "Labels": labels},
        "created": "1970-01-01T00:00:00Z",
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}" for layer in config.layers]},
    }
    if config.variant:
        document["variant"] = config.variant
    return canonical(document)
