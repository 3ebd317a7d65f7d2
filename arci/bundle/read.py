"""Read a bundle: the member list first, then every digest, then what the members mean. Writes nothing by itself.

A bundle is hostile whoever made it. One that `read_bundle` hands out holds: each byte is accounted for, and manifest,
record, events, logs and images fit each other. What it would *run* is as untrusted as before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arci.bundle.archive import Archive, open_archive
from arci.bundle.bundle import Bundle
from arci.bundle.document import BundleDocument, parse_document
from arci.bundle.images import check_images
from arci.bundle.members import DISTRIBUTIONS, DOCUMENT, EVENTS, SOURCE
from arci.bundle.pieces import lock_data
from arci.bundle.recorded import check_names, read_manifest, read_recorded
from arci.bundle.refusal import DEFAULT_BOUNDS, Bounds, BundleError
from arci.bundle.trial import check_events, check_record, kept_log, log_entries
from arci.model.manifest import Manifest

__all__ = ["Bundle", "read_bundle"]


@contextmanager
def read_bundle(path: Path, bounds: Bounds = DEFAULT_BOUNDS) -> Iterator[Bundle]:
    """An open bundle, verified whole. BundleError naming the file and what does not hold in it."""
    fd = _open(path)
    try:
        try:
            bundle = _verified(path, open_archive(fd, bounds))
        except BundleError as error:
            raise BundleError(f"{path}: {error.message}", hint=error.hint) from None
        except OSError as error:
            raise BundleError(f"{path}: {error.strerror or error}") from None
        yield bundle
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would block for ever
    except OSError as error:
        what = f"{error.strerror or error}; the file that arci bundle wrote is required."
        raise BundleError(f"{path}: {what}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BundleError(f"{path}: is no regular file; a bundle is one.")
    return fd


def _verified(path: Path, archive: Archive) -> Bundle:
    if next(iter(archive.members), None) != DOCUMENT:
        raise BundleError(f"its first member is not {DOCUMENT}.")
    document = parse_document(archive.read(DOCUMENT))
    _check_members(archive, document)
    manifest_document = read_manifest(archive, document)
    manifest = Manifest.from_document(manifest_document)
    record = read_recorded(archive, document)
    trial = check_record(manifest, record)
    check_names(document, manifest, trial)
    check_events(record, archive.read(EVENTS), archive.bounds.json_bytes)
    entries = log_entries(record)
    for entry in entries:
        kept_log(entry, archive.read(entry.member))
    _check_logs(archive, {entry.member for entry in entries})
    images = check_images(archive, document, manifest)
    _check_kind(archive, document, manifest)
    return Bundle(path, document, manifest_document, manifest, record, trial, images, archive)


def _check_members(archive: Archive, document: BundleDocument) -> None:
    """The list in `bundle.json` is the list of what is there, in its order, and every digest holds."""
    listed = [(entry.name, entry.bytes) for entry in document.members]
    there = [(member.name, member.bytes) for member in archive.members.values()][1:]
    if listed != there or listed != sorted(listed):
        raise BundleError(f"its members are not those that {DOCUMENT} lists.")
    for entry in document.members:
        if archive.sha256(entry.name) != entry.sha256:
            raise BundleError(f"member {entry.name!r}: its content is not of the digest that {DOCUMENT} lists.")


def _check_logs(archive: Archive, known: set[str]) -> None:
    unknown = [name for name in archive.members if name.startswith("logs/") and name not in known]
    if unknown:
        raise BundleError(f"member {unknown[0]!r}: the record knows no such log.")


def _check_kind(archive: Archive, document: BundleDocument, manifest: Manifest) -> None:
    """A process bundle has sources and lock data, a docker bundle neither."""
    is_process = document.isolation == "process"
    has = (document.source_root is not None, SOURCE in archive.members, DISTRIBUTIONS in archive.members)
    if has != (is_process,) * 3:
        raise BundleError(f"{DOCUMENT}: a bundle holds images, or a source tree with its distributions.")
    if is_process and archive.read(DISTRIBUTIONS) != lock_data(manifest):
        raise BundleError(f"{DISTRIBUTIONS}: is not what the manifest sealed.")
