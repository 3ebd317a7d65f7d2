"""The images of a bundle, held against the sealed manifest: configurations, and every layer's content. Only reads."""

from __future__ import annotations

from dataclasses import dataclass

from arci.bundle.archive import Archive
from arci.bundle.document import BundleDocument, ImageEntry
from arci.bundle.image_config import ImageConfig, parse_config
from arci.bundle.members import config_member, layer_member
from arci.bundle.refusal import BundleError
from arci.model.manifest import Manifest

__all__ = ["RUNTIME", "BundledImage", "check_images", "trial_keys"]

RUNTIME = "runtime"
"""The one image that the manifest does not name."""


@dataclass(frozen=True, slots=True)
class BundledImage:
    """One image. `config` is None where the bundle only refers to it."""

    entry: ImageEntry
    config: ImageConfig | None

    @property
    def sha256(self) -> str:
        """Digest of its identity."""
        return self.entry.identity["sha256"]


def trial_keys(manifest: Manifest, arm: str) -> tuple[str, ...]:
    """The keys, among the manifest's `images`, of what a trial of that arm ran."""
    servers = (f"server:{server.name}" for server in manifest.own_images)
    return (arm, "boundary", "grader", *servers)


def check_images(archive: Archive, document: BundleDocument, manifest: Manifest) -> dict[str, BundledImage]:
    """Key -> image. BundleError unless each is what the manifest sealed, whole, and nothing else is there."""
    wanted = trial_keys(manifest, document.arm) if document.isolation == "docker" else ()
    if set(document.images) - {RUNTIME} != set(wanted):
        raise BundleError("bundle.json: its images are not those of the trial.")
    found = {key: _image(archive, key, entry, manifest) for key, entry in document.images.items()}
    if len({image.config is None for image in found.values()}) > 1:
        raise BundleError("bundle.json: some of its images are embedded and others referenced.")
    layers = {layer for image in found.values() if image.config for layer in image.config.layers}
    configs = {str(image.entry.config) for image in found.values() if image.config}
    there = {name for name in archive.members if name.startswith("images/")}
    if there != {*map(layer_member, layers), *map(config_member, configs)} or layers != set(document.layers):
        raise BundleError("bundle.json: its layers and configurations are not those of its images.")
    _check_layers(archive, document)
    return found


def _image(archive: Archive, key: str, entry: ImageEntry, manifest: Manifest) -> BundledImage:
    if key != RUNTIME and entry.identity != manifest.images.get(key):
        raise BundleError(f"images.{key}: its identity is not what the manifest sealed.")
    if not {"sha256", "platform"} <= set(entry.identity):
        raise BundleError(f"images.{key}: its identity is incomplete.")
    if entry.config is None:
        if entry.layers or not entry.references:
            raise BundleError(f"images.{key}: is neither embedded nor referenced.")
        return BundledImage(entry, None)
    return BundledImage(entry, _config(archive, key, entry, config_member(entry.config)))


def _config(archive: Archive, key: str, entry: ImageEntry, member: str) -> ImageConfig:
    if archive.sha256(member) != entry.config:
        raise BundleError(f"images.{key}: its configuration is not of the digest that names it.")
    config = parse_config(archive.read(member))
    if config.identity != entry.identity:
        raise BundleError(f"images.{key}: its configuration is not that of the identity which was sealed.")
    if config.layers != entry.layers:
        raise BundleError(f"images.{key}: its configuration names other layers than bundle.json.")
    return config


def _check_layers(archive: Archive, document: BundleDocument) -> None:
    """Unpack every layer once, to nowhere: before an engine is given any of them, all are what their names say."""
    total, most = sum(layer.bytes for layer in document.layers.values()), archive.bounds.unpacked_bytes
    if total > most:
        raise BundleError(f"its layers unpack to {total} bytes; {most} are allowed.")
    for diff_id, layer in document.layers.items():
        member = layer_member(diff_id)
        if archive.unpacked_sha256(member, layer.bytes) != diff_id:
            raise BundleError(f"member {member!r}: unpacks to another layer than its name says.")
