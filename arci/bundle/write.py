"""Write a bundle: one recorded trial of a run store, with the images or the source it ran on, as one file.

The same trial, images and key give the same bytes. The file appears only when it is whole.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path

from anyio import to_thread

import arci
from arci.bundle.document import BUNDLE_FORMAT, BundleDocument, ImageEntry, LayerEntry, Maker, MemberEntry
from arci.bundle.engine_images import ImageSource, SourceImage
from arci.bundle.images import RUNTIME, trial_keys
from arci.bundle.members import DISTRIBUTIONS, DOCUMENT, SOURCE, config_member, layer_member, most_bytes
from arci.bundle.pieces import Trialled, lock_data, read_trial
from arci.bundle.refusal import DEFAULT_BOUNDS, Bounds, BundleError
from arci.bundle.repack import PackedImages, repack
from arci.bundle.source import PackedSource, pack_source
from arci.bundle.tar import file_chunks, write_members
from arci.bundle.trust import Key, own_key
from arci.errors import UsageError

__all__ = ["write_bundle"]

Content = bytes | Path


async def write_bundle(
    run: Path,
    trial_id: str,
    out: Path,
    *,
    images: ImageSource | None = None,
    embed: bool = True,
    key: Key | None = None,
    bounds: Bounds = DEFAULT_BOUNDS,
) -> BundleDocument:
    """Pack the trial `trial_id` of the run store `run` into the file `out`, replaced as a whole; its `bundle.json`.

    A docker run needs `images` (`engine_images.find_images`); with `embed` false the bundle holds their identities and
    registry digests alone. A process run's sources are read from where they were sealed. `key`: the user's own.

    StoreError or SpecError for a store that cannot be read; UsageError for a choice that the run does not have;
    BundleError for what is not what was sealed, or beyond `bounds`; EngineError if the engine fails.
    """
    trial = await to_thread.run_sync(read_trial, run, trial_id, bounds)
    maker = key or own_key()
    assert maker is not None  # made where it was missing
    with _private(out) as directory:
        if trial.manifest.isolation.backend == "docker":
            described = _described(trial, None if images is None else await images.describe(), embed=embed)
            packed = await _packed(images, described, directory, bounds) if images is not None and embed else None
            parts = _image_parts(described, packed)
        else:
            if not embed:
                raise UsageError("--images reference: a process run has no images; embed is what it allows.")
            source = await to_thread.run_sync(pack_source, trial.manifest, directory, bounds)
            parts = _source_parts(trial, source)
        return await to_thread.run_sync(_finish, out, directory, trial, parts, maker, bounds)


class Parts:
    """What a bundle holds beside the trial: members, and what `bundle.json` says of them."""

    def __init__(
        self,
        contents: Mapping[str, Content],
        *,
        images: Mapping[str, ImageEntry] | None = None,
        layers: Mapping[str, LayerEntry] | None = None,
        source: PackedSource | None = None,
    ) -> None:
        self.contents = contents
        self.images = dict(images or {})
        self.layers = dict(layers or {})
        self.source_root = None if source is None else source.root
        self.source_bytes = 0 if source is None else source.packed.bytes


@contextmanager
def _private(out: Path) -> Iterator[Path]:
    """A directory beside `out`, on the same file system, gone afterwards; errors of that disk name the file."""
    try:
        with tempfile.TemporaryDirectory(
            prefix=f".{out.name}.", dir=out.parent, ignore_cleanup_errors=True
        ) as directory:
            yield Path(directory)
    except OSError as error:
        raise BundleError(f"{out}: {error.strerror or error}.") from error


def _described(trial: Trialled, found: Mapping[str, SourceImage] | None, *, embed: bool) -> dict[str, SourceImage]:
    """The images to pack, each what was sealed."""
    if found is None:
        raise UsageError("a docker run is bundled with its images; the engine that has them is required.")
    keys = trial_keys(trial.manifest, trial.planned.arm)
    for key in keys:
        if key not in found or found[key].identity != trial.manifest.images[key]:
            raise BundleError(f"images.{key}: the image is not what was sealed.")
        if not embed and not found[key].references:
            raise UsageError(
                f"images.{key}: no registry has it, so it cannot be referenced.",
                hint="docker push it and run again, or --images embed",
            )
    return {key: image for key, image in found.items() if key in keys or (key == RUNTIME and embed)}


async def _packed(
    source: ImageSource, images: Mapping[str, SourceImage], directory: Path, bounds: Bounds
) -> PackedImages:
    wanted = {key: image.identity["sha256"] for key, image in images.items()}
    take = partial(repack, wanted=wanted, directory=directory, bounds=bounds)
    return await source.archive([image.id for image in images.values()], take)


def _image_parts(described: Mapping[str, SourceImage], packed: PackedImages | None) -> Parts:
    if packed is None:
        entries = {
            key: ImageEntry(identity=image.identity, config=None, layers=(), references=image.references)
            for key, image in described.items()
        }
        return Parts({}, images=entries)
    contents: dict[str, Content] = {config_member(i.config_sha256): i.config for i in packed.images.values()}
    contents |= {layer_member(diff_id): layer.path for diff_id, layer in packed.layers.items()}
    entries = {
        key: ImageEntry(identity=described[key].identity, config=i.config_sha256, layers=i.layers, references=())
        for key, i in packed.images.items()
    }
    layers = {diff_id: LayerEntry(bytes=layer.bytes) for diff_id, layer in packed.layers.items()}
    return Parts(contents, images=entries, layers=layers)


def _source_parts(trial: Trialled, source: PackedSource) -> Parts:
    return Parts({SOURCE: source.packed.path, DISTRIBUTIONS: lock_data(trial.manifest)}, source=source)


def _finish(out: Path, directory: Path, trial: Trialled, parts: Parts, key: Key, bounds: Bounds) -> BundleDocument:
    contents = {**trial.contents, **parts.contents}
    members = [_entry(name, content, bounds) for name, content in sorted(contents.items())]
    if len(members) >= bounds.members:
        raise BundleError(f"{len(members)} members; fewer than {bounds.members} are allowed.")
    document = _signed(trial, parts, tuple(members), key)
    data = document.encoded()
    _check_size(DOCUMENT, len(data), bounds)
    part = directory / "bundle"
    with part.open("xb") as file:
        listed = ((entry.name, entry.bytes, _chunks(contents[entry.name])) for entry in members)
        write_members(file, [(DOCUMENT, len(data), (data,)), *listed])
        file.flush()
        os.fsync(file.fileno())
    part.replace(out)
    return document


def _entry(name: str, content: Content, bounds: Bounds) -> MemberEntry:
    total, size = sha256(), 0
    for data in _chunks(content):
        total.update(data)
        size += len(data)
    _check_size(name, size, bounds)
    return MemberEntry(name=name, sha256=total.hexdigest(), bytes=size)


def _check_size(name: str, size: int, bounds: Bounds) -> None:
    most = most_bytes(name, bounds)
    if most is None or size > most:
        raise BundleError(f"member {name!r}: would be {size} bytes; {most or 0} are allowed.")


def _chunks(content: Content) -> Iterable[bytes]:
    return (content,) if isinstance(content, bytes) else file_chunks(content)


def _signed(trial: Trialled, parts: Parts, members: tuple[MemberEntry, ...], key: Key) -> BundleDocument:
    manifest, planned = trial.manifest, trial.planned
    unsigned = BundleDocument.model_validate(
        {
            "format": BUNDLE_FORMAT,
            "arci_version": arci.__version__,
            "runtime_sha256": manifest.runtime_sha256,
            "experiment_id": manifest.experiment_id,
            "trial_id": planned.trial_id,
            "arm": planned.arm,
            "manifest_sha256": manifest.sha256,
            "record_sha256": trial.record_sha256,
            "isolation": manifest.isolation.backend,
            "agent": manifest.arms[planned.arm].kind,
            "source_root": parts.source_root,
            "source_bytes": parts.source_bytes,
            "images": parts.images,
            "layers": parts.layers,
            "members": members,
            "made_by": Maker(key_id=key.id, signature="0" * 64),
        }
    )
    maker = Maker(key_id=key.id, signature=key.signature(unsigned.signed()))
    return unsigned.model_copy(update={"made_by": maker})
