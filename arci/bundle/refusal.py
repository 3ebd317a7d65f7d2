"""The one error of a bundle, and the bounds within which one is read. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from arci.errors import ArciError

__all__ = ["DEFAULT_BOUNDS", "Bounds", "BundleError"]


class BundleError(ArciError):
    """A bundle cannot be made, read or used; the text names the file or its member. A replay of it is INVALID."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a bundle may hold; larger ones are neither written nor read. All in bytes but `members` and `ratio`."""

    members: int = 2048
    document_bytes: int = 2 << 20
    """`bundle.json`, and one image's configuration."""
    json_bytes: int = 64 << 20
    """`manifest.json`, `record.json`, and one line of `events.jsonl`."""
    events_bytes: int = 512 << 20
    log_bytes: int = 1 << 20
    layer_bytes: int = (8 << 30) - 1
    """One compressed member: what the size field of its header can hold."""
    source_bytes: int = 1 << 30
    """The source tree, unpacked."""
    unpacked_bytes: int = 64 << 30
    """All layers together, unpacked."""
    ratio: int = 500
    """Unpacked to packed bytes of one compressed member, beyond the first `slack_bytes`."""
    slack_bytes: int = 64 << 20
    window_bytes: int = 8 << 20
    """Memory that a compressed stream may ask its reader for."""

    def most_unpacked(self, packed_bytes: int) -> int:
        """How much a compressed member of that size may become."""
        return self.slack_bytes + self.ratio * packed_bytes


DEFAULT_BOUNDS = Bounds()
