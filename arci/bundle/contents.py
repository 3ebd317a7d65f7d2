"""What is inside a bundle, as one document for people and programs, before anything of it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arci.bundle.bundle import Bundle
from arci.bundle.document import BundleDocument
from arci.bundle.images import BundledImage
from arci.bundle.members import layer_member
from arci.bundle.read import read_bundle
from arci.bundle.refusal import DEFAULT_BOUNDS, Bounds
from arci.bundle.trial import log_entries
from arci.bundle.trust import Key, made_here, own_key
from arci.model.manifest import Manifest

__all__ = ["contents", "describe"]

_JUDGED = ("outcome", "ending", "blame", "detail", "fingerprint")


def contents(path: Path, *, key: Key | None = None, bounds: Bounds = DEFAULT_BOUNDS) -> dict[str, Any]:
    """See `describe`; the bundle is read and verified whole. BundleError where it does not hold. `key`: the user's."""
    with read_bundle(path, bounds) as bundle:
        return describe(bundle, key or own_key(make=False))


def describe(bundle: Bundle, key: Key | None) -> dict[str, Any]:
    """The trial and how it ended, what a replay would run, images with sizes, names of logs and evidence, the maker.

    All of it but `made_by.is_own` is the bundle's word: text in it may hold anything.
    """
    document, record = bundle.document, bundle.record
    return {
        "format": document.format,
        "arci_version": document.arci_version,
        "bytes": bundle.path.stat().st_size,
        "members": len(bundle.archive.members),
        "experiment_id": document.experiment_id,
        "trial": _trial(bundle),
        "isolation": document.isolation,
        "arms": {name: _arm(bundle.manifest, name) for name in sorted(bundle.manifest.arms)},
        "runs": _runs(bundle.manifest, document.arm),
        "images": {key: _image(document, bundle, key, image) for key, image in sorted(bundle.images.items())},
        "source_bytes": document.source_bytes,
        "logs": [{"role": e.role, "stream": e.stream, "bytes": e.bytes} for e in log_entries(record)],
        "evidence": sorted(_evidence(record)),
        "manifest_sha256": document.manifest_sha256,
        "record_sha256": document.record_sha256,
        "runtime_sha256": document.runtime_sha256,
        "made_by": {"key_id": document.made_by.key_id, "is_own": made_here(document, key)},
    }


def _trial(bundle: Bundle) -> dict[str, Any]:
    trial = bundle.trial
    return {
        "trial_id": trial.trial_id,
        "arm": trial.arm,
        "condition_id": trial.condition_id,
        "index": trial.index,
        "seed": trial.seed,
        "task_id": trial.task_id,
        **{name: bundle.record[name] for name in _JUDGED},
        "events": bundle.record["recording"]["events"],
        "faults": [fault.name for fault in bundle.manifest.condition(trial.condition_id).faults],
    }


def _arm(manifest: Manifest, name: str) -> dict[str, Any]:
    arm = manifest.arms[name]
    return {"label": arm.label, "kind": arm.kind, "ref": arm.ref, "argv": list(arm.argv), "source": arm.source}


def _runs(manifest: Manifest, name: str) -> list[dict[str, Any]]:
    """The programs of others that a replay starts: the agent and the grader. The recorder, which is ARCI's own, runs
    in the boundary's image; servers and toolset do not run: their answers are recorded."""
    arm, grader = manifest.arms[name], manifest.grader
    return [
        {"role": "agent", "ref": arm.ref, "argv": list(arm.argv), "env": sorted({**arm.env, **arm.secret_env})},
        {"role": "grader", "ref": grader.ref, "argv": list(grader.argv), "env": []},
    ]


def _image(document: BundleDocument, bundle: Bundle, key: str, image: BundledImage) -> dict[str, Any]:
    layers = image.entry.layers
    return {
        "sha256": image.sha256,
        "platform": image.entry.identity["platform"],
        "references": list(image.entry.references),
        "layers": len(layers),
        "bytes": sum(document.layers[layer].bytes for layer in layers),
        "packed_bytes": sum(bundle.archive.members[layer_member(layer)].bytes for layer in layers),
        "entrypoint": [] if image.config is None else list(image.config.behaviour.get("Entrypoint", ())),
        "cmd": [] if image.config is None else list(image.config.behaviour.get("Cmd", ())),
        "user": "" if image.config is None else image.config.behaviour.get("User", ""),
    }


def _evidence(record: Mapping[str, Any]) -> list[str]:
    evidence = record.get("evidence")
    files = evidence.get("files") if isinstance(evidence, Mapping) else None
    return [str(name) for name in files] if isinstance(files, Mapping) else []
