"""A bundle that was read and holds: what a replay, a diff or a person may take from it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.bundle.archive import Archive
from arci.bundle.document import BundleDocument
from arci.bundle.images import BundledImage
from arci.bundle.members import EVENTS, SOURCE, layer_member
from arci.bundle.refusal import BundleError
from arci.bundle.tree import unpack_tree
from arci.bundle.trial import kept_log, log_entries, parse_events
from arci.model.manifest import Manifest
from arci.model.trial import Trial
from arci.store.logs import LogTail

__all__ = ["Bundle"]


@dataclass(frozen=True, slots=True)
class Bundle:
    """Its file stays open until the context of `read_bundle` is left."""

    path: Path
    document: BundleDocument
    manifest_document: Mapping[str, Any]
    manifest: Manifest
    """As it was sealed; see `neutral.neutralised` before anything of it is run."""
    record: Mapping[str, Any]
    trial: Trial
    images: Mapping[str, BundledImage]
    """Key -> image, of docker bundles; without configuration and layers where they are only referenced."""
    archive: Archive

    def events(self) -> list[dict[str, Any]]:
        """The trial's events, in order."""
        return parse_events(self.archive.read(EVENTS))

    def logs(self) -> dict[str, dict[str, LogTail]]:
        """Role -> stream -> what is kept of it; streams that said nothing are left out."""
        found: dict[str, dict[str, LogTail]] = {}
        for entry in log_entries(self.record):
            found.setdefault(entry.role, {})[entry.stream] = kept_log(entry, self.archive.read(entry.member))
        return found

    def layer(self, diff_id: str) -> Iterator[bytes]:
        """The unpacked tar of a layer, whose digest was checked when the bundle was read."""
        return self.archive.unpacked(layer_member(diff_id), self.document.layers[diff_id].bytes)

    def extract_source(self, directory: Path) -> Path:
        """Write the source trees of a process run into `directory`, which must be new and empty, and give the
        descriptor's directory in it. BundleError unless they are exactly what was sealed; then remove `directory`."""
        root = self.document.source_root
        if root is None:
            raise BundleError(f"{self.path}: was made from a docker run, so it holds images and no source tree.")
        with tempfile.TemporaryDirectory(prefix="arci-bundle-") as private:
            tar = Path(private, "source.tar")
            with tar.open("xb") as out:
                for data in self.archive.unpacked(SOURCE, self._source_bytes()):
                    out.write(data)
            return unpack_tree(tar, self.manifest, root, directory, self.archive.bounds)

    def _source_bytes(self) -> int:
        size, most = self.document.source_bytes, self.archive.bounds.source_bytes
        if size > most:
            raise BundleError(f"{self.path}: its source tree unpacks to {size} bytes; {most} are allowed.")
        return size
