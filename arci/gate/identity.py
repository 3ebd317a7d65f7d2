"""Whether the records are those of the planned trials, whole, in one chain, of the sealed images. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from arci.gate.objections import Objection
from arci.gate.result import Result, result_of
from arci.model.canonical import canonical
from arci.model.manifest import Manifest
from arci.model.record import CHAIN_START, record_is_sealed
from arci.model.trial import Trial

__all__ = ["check_records"]

_IDENTITY = ("pair_id", "arm", "condition_id", "index", "task_id", "seed", "trial_sha256")


def check_records(
    manifest: Manifest, plan: Sequence[Trial], records: Sequence[Any]
) -> tuple[list[Result], list[Objection]]:
    """The facts of the usable records, and everything that does not hold."""
    planned = {trial.trial_id: trial for trial in plan}
    results: dict[str, Result] = {}
    objections: list[Objection] = []
    seen: set[str] = set()
    previous: object = CHAIN_START
    for number, record in enumerate(records, 1):
        if not isinstance(record, Mapping):
            objections.append(Objection("no records", f"record {number} is no object"))
            continue
        name = record.get("trial_id")
        trial = planned.get(name) if isinstance(name, str) else None
        label = name if isinstance(name, str) else f"of record {number}"
        objections += [Objection(kind, message, label) for kind, message in _links(record, previous)]
        previous = record.get("record_sha256")
        if trial is None:
            objections.append(Objection("not planned", "is recorded and was not planned", label))
        elif trial.trial_id in seen:
            objections.append(Objection("recorded twice", "is recorded more than once", label))
        else:
            seen.add(trial.trial_id)
            objections += [Objection(kind, message, label) for kind, message in _identity(manifest, trial, record)]
            _take(results, objections, manifest, record, trial)
    missing = (trial_id for trial_id in planned if trial_id not in seen)
    objections += [Objection("not recorded", "was planned and is not recorded", trial_id) for trial_id in missing]
    return list(results.values()), objections


def _links(record: Mapping[str, Any], previous: object) -> list[tuple[str, str]]:
    found = []
    if not _is_sealed(record):
        found.append(("broken seals", "its record_sha256 is not the digest of its content"))
    if record.get("previous_sha256") != previous:
        found.append(("broken chain", "its previous_sha256 is not the digest of the record before it"))
    return found


def _is_sealed(record: Mapping[str, Any]) -> bool:
    try:
        return record_is_sealed(record)
    except (TypeError, ValueError, RecursionError):
        return False  # nothing that can be sealed at all


def _identity(manifest: Manifest, trial: Trial, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    expected = {name: getattr(trial, name) for name in _IDENTITY} | {"manifest_sha256": manifest.sha256}
    wrong = [name for name, value in expected.items() if not _equal(record.get(name), value)]
    if wrong:
        found.append(("other identity", f"it is not the planned one: {', '.join(wrong)} differ from the manifest's"))
    images = manifest.image_digests(trial.arm)
    if not _equal(record.get("images"), images):
        found.append(("other images", f"it ran {_differing(record.get('images'), images)}"))
    return found


def _equal(one: object, other: object) -> bool:
    """As JSON: 1 and true are not the same."""
    try:
        return canonical(one) == canonical(other)
    except (TypeError, ValueError, RecursionError):
        return False


def _differing(images: object, expected: Mapping[str, str | None]) -> str:
    if not isinstance(images, Mapping):
        return "images that its record does not name"
    roles = [role for role in sorted({*map(str, images), *expected}) if images.get(role) != expected.get(role)]
    shown = (f"{role} {str(images.get(role))[:12]} for {str(expected.get(role))[:12]}" for role in roles)
    return f"other images than the manifest names: {', '.join(shown)}"


def _take(
    results: dict[str, Result], objections: list[Objection], manifest: Manifest, record: Mapping[str, Any], trial: Trial
) -> None:
    label = trial.trial_id
    try:
        # where it belongs is the plan's to say: a record of another arm is objected to, and counted where it stands
        result = replace(result_of(record), condition_id=trial.condition_id, arm=trial.arm, index=trial.index)
        _check_injections(manifest, result, record)
    except KeyError as error:
        objections.append(Objection("unusable records", f"its record has no {error}", label))
    except (TypeError, ValueError, AttributeError) as error:
        objections.append(Objection("unusable records", f"its record cannot be used: {error}", label))
    else:
        results[label] = result


def _check_injections(manifest: Manifest, result: Result, record: Mapping[str, Any]) -> None:
    faults = manifest.condition(result.condition_id).faults
    for injection in record["injections"]:
        index = injection["fault_index"]
        if index >= len(faults) or injection["fault"] != faults[index].name:
            raise ValueError(
                f"injection of fault {index}, {injection['fault']!r}, which its condition does not declare"
            )
