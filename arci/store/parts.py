"""Whether stores are all the shards of one sealed manifest, each whole and sound. Reads, never writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.errors import StoreError, UsageError
from arci.model.canonical import canonical
from arci.model.manifest import UNSEALED_KEYS, Manifest, manifest_sha256
from arci.model.record import CHAIN_START, record_is_sealed
from arci.store.layout import MANIFEST, RUN, TRIALS
from arci.store.reader import read_run
from arci.store.run import StoredRun
from arci.store.shards import Shard, shard_of, shard_trials

__all__ = ["Part", "complete_parts"]


@dataclass(frozen=True, slots=True)
class Part:
    """One shard, read back; its records are those that were planned for it."""

    directory: Path
    stored: StoredRun
    document: Mapping[str, Any]
    info: Mapping[str, Any]
    shard: Shard
    manifest: Manifest


def complete_parts(runs: Sequence[Path]) -> list[Part]:
    """Every shard of one manifest, by index. UsageError where they do not belong together or one is missing, doubled or
    not complete; StoreError where one is broken. Each names the store."""
    parts = [_read(directory) for directory in runs]
    for part in parts[1:]:
        _refuse_other(parts[0], part)
    _refuse_gaps(parts)
    for part in parts:
        _check_records(part)
    return sorted(parts, key=lambda part: part.shard.index)


def _read(directory: Path) -> Part:
    stored = read_run(directory)
    if stored.problems:
        raise StoreError(f"{directory}: cannot be merged: {stored.problems[0]}")
    assert stored.info is not None
    assert stored.manifest is not None
    shard = shard_of(stored.info)
    if shard is None:
        raise UsageError(f"{directory}: is no shard but a whole run; only shards (arci run --shard i/k) are merged.")
    if stored.info["state"] != "complete":
        raise UsageError(
            f"{directory}: shard {shard} is not complete ({stored.info['state']}, {len(stored.records)} records).",
            hint=f"end it with arci run SEALED --shard {shard} --resume --out {directory.parent}, and merge then",
        )
    return Part(directory, stored, stored.manifest, stored.info, shard, _manifest(directory, stored.manifest))


def _manifest(directory: Path, document: Mapping[str, Any]) -> Manifest:
    where = directory / MANIFEST
    try:
        manifest = Manifest.from_document(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{where}: cannot be merged: it cannot be used: {error}") from None
    if document.get("record_sha256") != manifest_sha256(document):
        raise StoreError(f"{where}: cannot be merged: its seal does not hold")
    return manifest


def _refuse_other(first: Part, part: Part) -> None:
    if part.manifest.sha256 != first.manifest.sha256:
        names = sorted(set(first.document) | set(part.document))
        differing = [n for n in names if n not in UNSEALED_KEYS and _differs(first.document, part.document, n)]
        raise UsageError(
            f"{part.directory}: is of another manifest ({part.manifest.sha256[:12]}) than {first.directory} "
            f"({first.manifest.sha256[:12]}): {', '.join(differing)} differ."
        )
    if part.shard.count != first.shard.count:
        raise UsageError(
            f"{part.directory}: is shard {part.shard}, and {first.directory} is {first.shard}: they split the manifest "
            "differently."
        )


def _differs(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> bool:
    return (name in one, canonical(one.get(name))) != (name in other, canonical(other.get(name)))


def _refuse_gaps(parts: Sequence[Part]) -> None:
    count = parts[0].shard.count
    given = Counter(part.shard.index for part in parts)
    for part in parts:
        if given[part.shard.index] > 1:
            twice = [str(other.directory) for other in parts if other.shard == part.shard]
            raise UsageError(f"{', '.join(twice)}: shard {part.shard} is given {len(twice)} times; once is allowed.")
    missing = [f"{index}/{count}" for index in range(1, count + 1) if not given[index]]
    if missing:
        have = ", ".join(f"{part.shard} ({part.directory})" for part in parts)
        raise UsageError(f"merge: {', '.join(missing)} of the shards are missing; given: {have}.")


def _check_records(part: Part) -> None:
    """Exactly the shard's planned trials, of the images that the manifest names, in an unbroken chain."""
    try:
        planned = {trial.trial_id: trial for trial in shard_trials(part.manifest, part.shard)}
    except UsageError as error:
        raise StoreError(f"{part.directory / RUN}: cannot be merged: {error}") from None
    previous, left = CHAIN_START, dict(planned)
    for record in part.stored.records:
        trial_id = record.get("trial_id")
        where = f"{part.directory / TRIALS}: trial {trial_id}"
        trial = left.pop(trial_id, None) if isinstance(trial_id, str) else None
        if trial is None:
            raise StoreError(f"{where}: is no trial of shard {part.shard}, or is recorded twice")
        if not record_is_sealed(record) or record.get("previous_sha256") != previous:
            raise StoreError(f"{where}: its seal or its link to the record before it does not hold")
        if record.get("manifest_sha256") != part.manifest.sha256 or record.get("trial_sha256") != trial.trial_sha256:
            raise StoreError(f"{where}: is of another manifest than {part.directory / MANIFEST}")
        if record.get("images") != part.manifest.image_digests(trial.arm):
            raise StoreError(f"{where}: ran other images than the manifest names")
        previous = record["record_sha256"]
    if left:
        raise StoreError(f"{part.directory / TRIALS}: {len(left)} of its trials are not recorded, such as {min(left)}")
