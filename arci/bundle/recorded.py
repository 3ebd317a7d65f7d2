"""Manifest and record out of a bundle, each held against what `bundle.json` names."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from arci.bundle.archive import Archive
from arci.bundle.document import BundleDocument
from arci.bundle.members import DOCUMENT, MANIFEST, RECORD
from arci.bundle.refusal import BundleError
from arci.errors import SpecError
from arci.manifest.seal import load_manifest
from arci.model.manifest import Manifest
from arci.model.trial import Trial
from arci.store.lines import parse_object

__all__ = ["check_names", "read_manifest", "read_recorded"]


def read_manifest(archive: Archive, document: BundleDocument) -> dict[str, Any]:
    """The document of the sealed manifest. BundleError if its seal does not hold, or it is another one."""
    with tempfile.TemporaryDirectory(prefix="arci-bundle-") as private:
        file = Path(private, MANIFEST)
        file.write_bytes(archive.read(MANIFEST))
        try:
            found = load_manifest(file)
        except SpecError as error:
            raise BundleError(f"{MANIFEST}: {error.problems[0].message}") from None
    if found["record_sha256"] != document.manifest_sha256:
        raise BundleError(f"{MANIFEST}: is another than {DOCUMENT} names.")
    return found


def read_recorded(archive: Archive, document: BundleDocument) -> dict[str, Any]:
    """The record, not yet held against the manifest. BundleError for no JSON object, or another one."""
    try:
        record = parse_object(archive.read(RECORD).removesuffix(b"\n"))
    except ValueError as error:
        raise BundleError(f"{RECORD}: {error}.") from None
    if record.get("record_sha256") != document.record_sha256:
        raise BundleError(f"{RECORD}: is another than {DOCUMENT} names.")
    return record


def check_names(document: BundleDocument, manifest: Manifest, trial: Trial) -> None:
    """BundleError unless `bundle.json` says of trial and experiment what they are."""
    said = (document.experiment_id, document.trial_id, document.arm, document.agent, document.isolation)
    agent, backend = manifest.arms[trial.arm].kind, manifest.isolation.backend
    true = (manifest.experiment_id, trial.trial_id, trial.arm, agent, backend)
    if said != true or document.runtime_sha256 != manifest.runtime_sha256:
        raise BundleError(f"{DOCUMENT}: does not say what manifest and record say.")
