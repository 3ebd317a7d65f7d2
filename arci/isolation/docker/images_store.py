"""ARCI's own images and runtime volumes on an engine, listed and pruned by label alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.errors import EngineError
from arci.isolation.docker.base_image import base_tag
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.recipes import KIND
from arci.isolation.docker.runtime import runtime_tag

__all__ = ["ImageRow", "Pruned", "list_images", "prune_images"]

_CALL_S = 60.0
_REMOVE_S = 300.0


@dataclass(frozen=True, slots=True)
class ImageRow:
    """One labelled image. `kind`: `base`, `runtime`, `project`, or `stage` (of a build, kept for the next)."""

    id: str
    kind: str
    tags: tuple[str, ...]
    size_bytes: int
    created_s: int
    """Unix time."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What is gone, and what the engine would not give up because something uses it."""

    images: tuple[str, ...]
    volumes: tuple[str, ...]
    kept: tuple[str, ...]


async def list_images(engine: Engine) -> tuple[ImageRow, ...]:
    """Every image with ARCI's label, by kind and then newest first."""
    rows = await engine.call("list images", engine.api.images, filters={"label": KIND}, timeout_s=_CALL_S)
    found = [_row(row) for row in rows]
    return tuple(sorted(found, key=lambda row: (row.kind, -row.created_s, row.id)))


def _row(row: Mapping[str, Any]) -> ImageRow:
    tags = sorted(tag for tag in row.get("RepoTags") or () if tag != "<none>:<none>")
    return ImageRow(row["Id"], row["Labels"][KIND], tuple(tags), row["Size"], row["Created"])


async def prune_images(engine: Engine, *, everything: bool = False) -> Pruned:
    """Remove labelled images and runtime volumes; without `everything` what this version runs on stays."""
    kept_tags = () if everything else (base_tag(), runtime_tag())
    doomed = doomed_images(await list_images(engine), kept_tags)
    images: list[str] = []
    volumes: list[str] = []
    kept: list[str] = []
    for row in doomed:
        # By name first: an engine refuses to remove an image of several names by its id.
        names = row.tags or (row.id,)
        gone = [await _gone(engine, engine.api.remove_image, name) for name in names]
        (images if all(gone) else kept).append(row.tags[0] if row.tags else row.id[7:19])
    found = await engine.call("list volumes", engine.api.volumes, filters={"label": KIND}, timeout_s=_CALL_S)
    for name in doomed_volumes([v["Name"] for v in found["Volumes"] or ()], kept_tags):
        is_gone = await _gone(engine, engine.api.remove_volume, name)
        (volumes if is_gone else kept).append(name)
    return Pruned(tuple(images), tuple(volumes), tuple(kept))


def doomed_images(rows: Iterable[ImageRow], kept_tags: Sequence[str]) -> list[ImageRow]:
    """Everything but the kept; those that others are built from come last. Pure.

    An image that a person built on ours has inherited our label: one with a name outside `arci/` is theirs.
    """
    order = {"project": 0, "stage": 1, "runtime": 2, "base": 3}
    ours = [row for row in rows if all(tag.removeprefix("localhost/").startswith("arci/") for tag in row.tags)]
    doomed = [row for row in ours if not set(row.tags) & set(kept_tags)]
    return sorted(doomed, key=lambda row: order.get(row.kind, 0))


def doomed_volumes(names: Iterable[str], kept_tags: Sequence[str]) -> list[str]:
    """Runtime volumes of other versions than the kept tags'. Pure."""
    kept = tuple(f"arci-runtime-{tag.partition(':')[2]}-" for tag in kept_tags if tag.startswith("arci/runtime:"))
    return sorted(name for name in names if not name.startswith(kept) or not kept)


async def _gone(engine: Engine, function: Any, name: str) -> bool:
    try:
        await engine.call("remove", function, name, timeout_s=_REMOVE_S)
    except EngineError as error:
        if error.status not in (404, 409):
            raise
        return error.status == 404
    return True
