"""An open bundle file whose list of members has been checked: their bytes, as they are and unpacked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from arci.bundle.members import most_bytes
from arci.bundle.packing import unpacked
from arci.bundle.refusal import Bounds, BundleError
from arci.bundle.tar import Member, chunks, walk

__all__ = ["Archive", "open_archive"]


@dataclass(frozen=True, slots=True)
class Archive:
    """`members` are in the order of the file. Only reads, and at any place, so that threads may share it."""

    fd: int
    members: Mapping[str, Member]
    bounds: Bounds

    def chunks(self, name: str) -> Iterator[bytes]:
        """A member's bytes, piece by piece. BundleError where there is no such member."""
        member = self.members.get(name)
        if member is None:
            raise BundleError(f"member {name!r}: is missing.")
        return chunks(self.fd, member)

    def read(self, name: str) -> bytes:
        """A member's bytes at once; `Bounds` limits them. BundleError where there is no such member."""
        return b"".join(self.chunks(name))

    def sha256(self, name: str) -> str:
        """Digest of a member's bytes."""
        return _sha256(self.chunks(name))

    def unpacked(self, name: str, size: int) -> Iterator[bytes]:
        """What a compressed member unpacks to, which must be `size` bytes. BundleError for anything else."""
        packed = self.chunks(name)
        return unpacked(f"member {name!r}", packed, self.members[name].bytes, size, self.bounds)

    def unpacked_sha256(self, name: str, size: int) -> str:
        """Digest of what a compressed member unpacks to."""
        return _sha256(self.unpacked(name, size))


def open_archive(fd: int, bounds: Bounds) -> Archive:
    """BundleError unless every member has a name that bundles have, once, within `bounds`."""
    found = walk(fd, lambda name: most_bytes(name, bounds), members=bounds.members)
    return Archive(fd, {member.name: member for member in found}, bounds)


def _sha256(data: Iterator[bytes]) -> str:
    total = hashlib.sha256()
    for piece in data:
        total.update(piece)
    return total.hexdigest()
