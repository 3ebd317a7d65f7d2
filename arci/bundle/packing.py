"""Compressed members: zstd at one fixed level, digests over the unpacked bytes, and unpacking that is bounded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from arci.bundle.refusal import Bounds, BundleError

__all__ = ["Packed", "as_file", "pack", "unpacked"]

_LEVEL = 6
"""Layers of ten thousands of small files: a higher one costs twice the time for a few per cent."""
_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class Packed:
    """A compressed file, and what it unpacks to."""

    path: Path
    sha256: str
    """Of the unpacked bytes, 64 hex digits."""
    bytes: int
    """Unpacked."""


def pack(content: Iterable[bytes], path: Path, *, most_bytes: int) -> Packed:
    """Compress into the new file `path`. BundleError once `content` is over `most_bytes`."""
    total, size = hashlib.sha256(), 0
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False).compressobj()
    with path.open("xb") as out:
        for data in content:
            size += len(data)
            if size > most_bytes:
                raise BundleError(f"more than {most_bytes} bytes to pack; that many are allowed.")
            total.update(data)
            out.write(compressor.compress(data))
        out.write(compressor.flush())
    return Packed(path, total.hexdigest(), size)


def unpacked(what: str, packed: Iterable[bytes], packed_bytes: int, size: int, bounds: Bounds) -> Iterator[bytes]:
    """The unpacked bytes of the member `what`, exactly `size` of them. BundleError for a bomb, and for anything but
    whole frames of that size; memory stays bounded whatever the stream asks for."""
    most = bounds.most_unpacked(packed_bytes)
    if size > most:
        raise BundleError(f"{what}: {packed_bytes} bytes unpack to {size}; {most} are allowed.")
    decompressor = zstandard.ZstdDecompressor(max_window_size=bounds.window_bytes)
    done = 0
    try:
        with decompressor.stream_reader(as_file(packed), read_across_frames=False) as reader:
            while data := reader.read(_STEP):
                done += len(data)
                if done > size:
                    raise BundleError(f"{what}: unpacks to more than the {size} bytes that it says.")
                yield data
    except zstandard.ZstdError as error:
        raise BundleError(f"{what}: cannot be unpacked: {error}.") from None
    if done != size:
        raise BundleError(f"{what}: unpacks to {done} bytes; it says {size}.")


def as_file(pieces: Iterable[bytes]) -> BinaryIO:
    """Something to read from, for who asks for no more than `read(size)`."""
    return cast(BinaryIO, _Pieces(pieces))


class _Pieces:
    """Pieces of any size, given out in no larger ones than are asked for."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._left = b""

    def read(self, size: int) -> bytes:
        if not self._left:
            self._left = next(self._pieces, b"")
        data, self._left = self._left[:size], self._left[size:]
        return data
