"""An engine's image archive, in whatever layout, repacked: each distinct layer once, compressed, under its diff id.

Names and links in the archive are not looked at. A layer is what has a diff id that a configuration asks for, and a
configuration is what has the identity of an image that is wanted; so no layout has to be understood.
"""

from __future__ import annotations

import hashlib
import itertools
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

import zstandard

from arci.bundle.image_config import ImageConfig, parse_config
from arci.bundle.packing import Packed, as_file, pack
from arci.bundle.refusal import Bounds, BundleError

__all__ = ["PackedImages", "repack"]

_STEP = 1 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_JSON = b"{"


@dataclass(frozen=True, slots=True)
class PackedImage:
    """`config`: the image's own configuration, byte for byte."""

    config: bytes
    layers: tuple[str, ...]

    @property
    def config_sha256(self) -> str:
        return hashlib.sha256(self.config).hexdigest()


@dataclass(frozen=True, slots=True)
class PackedImages:
    images: Mapping[str, PackedImage]
    """Key -> image."""
    layers: Mapping[str, Packed]
    """Diff id -> its compressed file; exactly those that the images need."""


def repack(archive: BinaryIO, wanted: Mapping[str, str], directory: Path, bounds: Bounds) -> PackedImages:
    """Read the archive once, as a stream. `wanted`: key -> digest of the image's identity; files go to `directory`.

    BundleError if an image or a layer is not in it, or is beyond `bounds`.
    """
    found, configs = _contents(archive, directory, bounds)
    images = {key: _image(key, identity, configs) for key, identity in wanted.items()}
    needed = {layer for image in images.values() for layer in image.layers}
    for layer in needed - set(found):
        raise BundleError(f"images: the engine's archive has no layer {layer[:12]}.")
    for layer in set(found) - needed:
        found[layer].path.unlink()
    return PackedImages(images, {layer: found[layer] for layer in sorted(needed)})


def _contents(
    archive: BinaryIO, directory: Path, bounds: Bounds
) -> tuple[dict[str, Packed], list[tuple[bytes, ImageConfig]]]:
    """Every file of the archive: as a layer by its digest, or as a configuration if it is one."""
    layers: dict[str, Packed] = {}
    configs: list[tuple[bytes, ImageConfig]] = []
    left = bounds.unpacked_bytes
    try:
        with tarfile.open(fileobj=archive, mode="r|") as tar:
            for number, member in enumerate(tar):
                file = tar.extractfile(member) if member.isfile() else None
                if file is None:
                    continue
                first = file.read(bounds.document_bytes)
                if first.startswith(_JSON):
                    configs += _as_config(first)
                # A layer may begin like one, too; what no configuration asks for is dropped at the end.
                plain = _plain(first, iter(partial(file.read, _STEP), b""))
                packed = pack(plain, directory / f"layer-{number}", most_bytes=left)
                left -= packed.bytes
                if layers.setdefault(packed.sha256, packed) is not packed:
                    packed.path.unlink()
    except (tarfile.TarError, zlib.error, zstandard.ZstdError) as error:
        raise BundleError(f"images: the engine's archive cannot be read: {error}.") from None
    return layers, configs


def _as_config(data: bytes) -> list[tuple[bytes, ImageConfig]]:
    """Indexes and manifests of either layout are JSON too."""
    try:
        return [(data, parse_config(data))]
    except BundleError:
        return []


def _image(key: str, identity: str, configs: list[tuple[bytes, ImageConfig]]) -> PackedImage:
    fits = [(data, config) for data, config in configs if config.identity["sha256"] == identity]
    if not fits:
        raise BundleError(f"images.{key}: the engine's archive has no image of identity {identity[:12]}.")
    data, config = min(fits, key=lambda fit: fit[0])
    return PackedImage(data, config.layers)


def _plain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """A layer's own tar, whichever way the archive has compressed it."""
    data = itertools.chain([first] if first else [], rest)
    if first.startswith(_GZIP):
        return _gunzipped(data)
    if first.startswith(_ZSTD):
        return _unzstd(data)
    return data


def _gunzipped(data: Iterator[bytes]) -> Iterator[bytes]:
    decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for piece in data:
        while piece:
            yield decompressor.decompress(piece, _STEP)
            piece = decompressor.unconsumed_tail or decompressor.unused_data
            if decompressor.eof:  # a layer may be several of them in a row
                decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16)


def _unzstd(data: Iterator[bytes]) -> Iterator[bytes]:
    with zstandard.ZstdDecompressor().stream_reader(as_file(data), read_across_frames=True) as reader:
        while more := reader.read(_STEP):
            yield more
