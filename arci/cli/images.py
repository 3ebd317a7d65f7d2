"""`arci images`: build, list, prune, save, load; and `setup`, which `make setup` calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly

if TYPE_CHECKING:
    from arci.isolation.docker.engine import Engine
    from arci.isolation.docker.images import ResolvedImage

__all__ = ["images"]

T = TypeVar("T")

_descriptor = click.argument("descriptor", type=click.Path(path_type=Path, dir_okay=False), required=False)


@click.group()
def images() -> None:
    """Build, list, prune, save and load images."""


@images.command()
@_descriptor
@options.build_ca
@options.as_json
def build(descriptor: Path | None, build_ca: Path | None, json_: bool) -> None:
    """Make ARCI's own images and, with DESCRIPTOR, those of its arms, boundary and grader. What is there is kept."""
    from arci.isolation.docker.runtime import ensure_runtime

    async def made(engine: Engine) -> dict[str, dict[str, str]]:
        runtime = await ensure_runtime(engine, options.notice)
        own = {"runtime": {"id": runtime.image_id, "volume": runtime.volume, "sha256": runtime.runtime_sha256}}
        if descriptor is None:
            return own
        resolved = await _resolved(engine, descriptor, build_ca)
        return own | {
            key: {"id": image.id, "reference": image.reference, **image.identity} for key, image in resolved.items()
        }

    found = _with_engine(made)
    if json_:
        options.emit_json(found)
    else:
        for key, facts in found.items():
            click.echo(f"{key:<10} {facts.get('reference') or facts['volume']}  {facts['sha256']}")


@images.command("list")
@options.as_json
def list_(json_: bool) -> None:
    """List every image that ARCI made on this engine."""
    from dataclasses import asdict

    from arci.isolation.docker.images_store import list_images

    rows = _with_engine(list_images)
    if json_:
        options.emit_json([asdict(row) for row in rows])
    else:
        for row in rows:
            click.echo(f"{row.kind:<8} {row.size_bytes / 1e6:8.1f} MB  {' '.join(row.tags) or row.id[7:19]}")


@images.command()
@click.option("--all", "everything", is_flag=True, help="Also what this version of ARCI runs on.")
@options.as_json
def prune(everything: bool, json_: bool) -> None:
    """Remove images and runtime volumes that ARCI made, by label; what is in use stays."""
    from dataclasses import asdict

    from arci.isolation.docker.images_store import prune_images

    gone = _with_engine(lambda engine: prune_images(engine, everything=everything))
    if json_:
        options.emit_json(asdict(gone))
    else:
        click.echo(f"{len(gone.images)} images and {len(gone.volumes)} volumes removed; {len(gone.kept)} in use.")


@images.command(short_help="Write images into FILE for another machine.")
@click.argument("file", type=options.NewFile())
@_descriptor
@options.build_ca
@options.as_json
def save(file: Path, descriptor: Path | None, build_ca: Path | None, json_: bool) -> None:
    """Write images into FILE for another machine: those of DESCRIPTOR, else every project image; and ARCI's own."""
    from arci.isolation.docker.base_image import base_tag
    from arci.isolation.docker.images_archive import save_images
    from arci.isolation.docker.images_store import list_images
    from arci.isolation.docker.runtime import ensure_runtime, runtime_tag

    async def saved(engine: Engine) -> tuple[list[str], int]:
        await ensure_runtime(engine, options.notice)
        if descriptor is None:
            names = [tag for row in await list_images(engine) if row.kind == "project" for tag in row.tags]
        else:
            names = [image.reference for image in (await _resolved(engine, descriptor, build_ca)).values()]
        names = sorted({*names, base_tag(), runtime_tag()})
        return names, await save_images(engine, names, file)

    names, size_bytes = _with_engine(saved)
    if json_:
        options.emit_json({"file": str(file), "images": names, "size_bytes": size_bytes})
    else:
        click.echo(f"{file}: {size_bytes / 1e6:.1f} MB, {', '.join(names)}")


@images.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--replace", is_flag=True, help="Let a loaded image take a name that stands for another one here.")
@options.as_json
def load(file: Path, replace: bool, json_: bool) -> None:
    """Load the images in FILE, and check that they are on the engine as the file has them."""
    from arci.isolation.docker.images_archive import load_images

    if not file.exists():
        raise click.UsageError(f"{file}: does not exist; a file that `arci images save` wrote is required.")
    loaded = _with_engine(lambda engine: load_images(engine, file, replace=replace))
    if json_:
        options.emit_json(loaded)
    else:
        for name, identity in loaded.items():
            click.echo(f"{name}  {identity['sha256']}")


async def _resolved(engine: Engine, descriptor: Path, build_ca: Path | None) -> dict[str, ResolvedImage]:
    from arci.isolation.docker.images import resolve_images
    from arci.manifest.descriptor import load_descriptor
    from arci.manifest.images import image_requests

    read = load_descriptor(descriptor)
    return await resolve_images(
        engine,
        image_requests(read),
        build_ca=build_ca,
        platform=read.document["isolation"]["platform"],
        where=str(descriptor),
        notice=options.notice,
    )


def _with_engine(step: Callable[[Engine], Awaitable[T]]) -> T:
    from arci.isolation.docker.engine import connect

    async def run() -> T:
        engine = await connect()
        try:
            return await step(engine)
        finally:
            engine.close()

    return run_interruptibly(run)
