"""One trial out of a run store, as the members of a bundle; checked as a reader of the bundle will check them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.bundle.members import EVENTS, MANIFEST, RECORD, log_member
from arci.bundle.refusal import Bounds, BundleError
from arci.bundle.trial import check_events, check_record, log_entries
from arci.manifest.seal import load_manifest
from arci.model.canonical import canonical
from arci.model.manifest import Manifest
from arci.model.trial import Trial
from arci.store.layout import MANIFEST as STORED_MANIFEST
from arci.store.reader import read_events, read_log, read_record

__all__ = ["Trialled", "lock_data", "read_trial"]


@dataclass(frozen=True, slots=True)
class Trialled:
    """`manifest` still has what is volatile; the member has not: paths of this machine are nobody else's business."""

    manifest: Manifest
    planned: Trial
    record_sha256: str
    contents: Mapping[str, bytes]
    """Member -> content."""


def read_trial(run: Path, trial_id: str, bounds: Bounds) -> Trialled:
    """StoreError or SpecError for a store that cannot be read, BundleError for a trial that does not hold."""
    record = read_record(run, trial_id)
    document = load_manifest(run / STORED_MANIFEST)
    manifest = Manifest.from_document(document)
    if manifest.isolation.backend not in ("process", "docker"):
        raise BundleError(f"{run}: was run on {manifest.isolation.backend!r}; 'process' and 'docker' can be bundled.")
    planned = check_record(manifest, record)
    events = b"".join(canonical(event) + b"\n" for event in read_events(run, trial_id))
    check_events(record, events, bounds.json_bytes)
    contents = {
        MANIFEST: canonical({**document, "volatile": {}}) + b"\n",
        RECORD: canonical(record) + b"\n",
        EVENTS: events,
        **_logs(run, record),
    }
    return Trialled(manifest, planned, record["record_sha256"], contents)


def lock_data(manifest: Manifest) -> bytes:
    """What a process run was installed with: interpreter and distributions, as sealed."""
    named = {name: manifest.images.get(name) for name in ("distributions", "interpreter")}
    return canonical(named) + b"\n"


def _logs(run: Path, record: Mapping[str, Any]) -> dict[str, bytes]:
    return {
        log_member(entry.role, entry.stream): read_log(run, record["trial_id"], entry.role, entry.stream).kept
        for entry in log_entries(record)
    }
