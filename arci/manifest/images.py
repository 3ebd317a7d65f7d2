"""Which images a descriptor needs, as data for whoever resolves them, and where each role's code lies. Pure."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from arci.manifest.programs import named_servers
from arci.manifest.shape import ArmShape, BuildShape, DescriptorShape, ImageShape

__all__ = [
    "IMAGE_KEYS",
    "ImageRequest",
    "arm_source",
    "grader_source",
    "image_requests",
    "project_source",
    "requests_of",
    "shared_images",
]

IMAGE_KEYS = ("baseline", "candidate", "boundary", "grader")
"""Those that every experiment has."""


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """One image: by `reference` (kind `reference`), or built from a directory (kind `build`). Hashable."""

    kind: str
    reference: str | None = None
    context: Path | None = None
    """Absolute directory."""
    dockerfile: str | None = None
    """Relative to the context; None: its `Dockerfile` if there is one, else ARCI's own for Python projects."""
    args: tuple[tuple[str, str], ...] = ()
    """Build arguments, sorted by name."""
    target: str | None = None


class _Shaped(Protocol):
    """A descriptor, as far as images go."""

    @property
    def shape(self) -> DescriptorShape: ...
    @property
    def root(self) -> Path: ...


def image_requests(descriptor: _Shaped) -> dict[str, ImageRequest]:
    """`baseline`, `candidate`, `boundary`, `grader`, and `server:<name>` for each server with an image of its own ->
    the image to resolve. Equal requests are one image."""
    return requests_of(descriptor.shape, descriptor.root)


def requests_of(shape: DescriptorShape, root: Path) -> dict[str, ImageRequest]:
    """As `image_requests`. An arm: its own image or context, else `images.agent`, else what the project uses."""
    project = shape.images.project or ImageShape(build=BuildShape())
    grader = shape.images.grader or project
    if shape.grader.image is not None:
        grader = ImageShape(image=shape.grader.image)
    servers = {f"server:{name}": ImageShape(image=server.image) for name, server in named_servers(shape).items()}
    chosen = {
        "baseline": _arm_image(shape.baseline) or shape.images.agent or project,
        "candidate": _arm_image(shape.candidate) or shape.images.agent or project,
        "boundary": shape.images.boundary or project,
        "grader": grader,
        **{key: image for key, image in servers.items() if image.image is not None},
    }
    return {key: _request(image, root) for key, image in chosen.items()}


def shared_images(requests: dict[str, ImageRequest]) -> list[str]:
    """Arms whose agent would run in the image that holds the grader or the boundary, and so its code."""
    trusted = (requests["grader"], requests["boundary"])
    return [arm for arm in ("baseline", "candidate") if requests[arm] in trusted]


def arm_source(shape: DescriptorShape, arm: str | ArmShape) -> str:
    """Directory of the arm's code, relative to the descriptor."""
    image = _arm_image(arm) or shape.images.agent or shape.images.project
    return _directory(image)


def project_source(shape: DescriptorShape) -> str:
    """Directory of world and oracle, relative to the descriptor."""
    return _directory(shape.images.boundary or shape.images.project)


def grader_source(shape: DescriptorShape) -> str:
    """Directory of the oracle where it has an image of its own; `process` isolation needs it to be the project's."""
    return _directory(shape.images.grader or shape.images.project)


def _arm_image(arm: str | ArmShape) -> ImageShape | None:
    if isinstance(arm, str):
        return None
    if arm.image is not None:
        return ImageShape(image=arm.image)
    return None if arm.context is None else ImageShape(build=BuildShape(context=arm.context))


def _directory(image: ImageShape | None) -> str:
    build = None if image is None else image.build
    return "." if build is None else posixpath.normpath(build.context)


def _request(image: ImageShape, root: Path) -> ImageRequest:
    if image.build is None:
        return ImageRequest("reference", reference=image.image)
    build = image.build
    return ImageRequest(
        "build",
        context=Path(posixpath.normpath(root / build.context)),
        dockerfile=build.dockerfile,
        args=tuple(sorted(build.args.items())),
        target=build.target,
    )
