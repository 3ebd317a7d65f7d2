"""The manifest as the gate may use it: its seal, its types, the rules it names, and the trials it plans. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arci.gate.objections import Objection
from arci.model.manifest import Manifest, manifest_sha256
from arci.model.trial import ARMS, Trial

__all__ = ["Schedule", "planned_trials", "read_manifest"]

Schedule = Callable[[Manifest], Sequence[Trial]]
_MAX_N = 100_000


def read_manifest(document: Mapping[str, Any] | None) -> tuple[Manifest | None, list[Objection]]:
    """The typed manifest, or None if nothing can be decided with it; and what does not hold."""
    if document is None:
        return None, [Objection("manifest", "manifest.json: there is none that can be read")]
    objections = []
    try:
        seal, content = document.get("record_sha256"), manifest_sha256(document)
        if seal != content:
            message = f"manifest.json: sealed as {str(seal)[:12]}, its content gives {content[:12]}"
            objections.append(Objection("manifest", message))
        manifest = Manifest.from_document(document)
        wrong = _wrong_rule(manifest)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = f"has no {error}" if isinstance(error, KeyError) else f"cannot be used: {error}"
        return None, [*objections, Objection("manifest", f"manifest.json: {what}")]
    if wrong is not None:
        return None, [*objections, Objection("manifest", f"manifest.json: {wrong}")]
    return manifest, objections


def planned_trials(manifest: Manifest, schedule: Schedule | None) -> tuple[Sequence[Trial], list[Objection]]:
    """The planned trials; none and an objection if the schedule cannot be made of this manifest."""
    if schedule is None:
        from arci.manifest.schedule import schedule as of_manifest  # the gate needs no more of manifest/ than this

        schedule = of_manifest
    try:
        unnamed = [arm for arm in ARMS if None in manifest.image_digests(arm).values()]
        if unnamed and manifest.isolation.backend != "fake":
            raise ValueError(f"images: nothing says what runs for {', '.join(unnamed)}")
        return schedule(manifest), []
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        return (), [Objection("manifest", f"manifest.json: no trials can be planned from it: {error}")]


def _wrong_rule(manifest: Manifest) -> str | None:
    """What the manifest says that no experiment can be decided by."""
    ids = [condition.id for condition in manifest.conditions]
    checks = {
        f"alpha: {manifest.alpha!r}; above 0, at most 0.5 is allowed": _within(manifest.alpha, 0.5, True),
        f"delta: {manifest.delta!r}; above 0, below 1 is allowed": _within(manifest.delta, 1, False),
        f"n_per_arm: {manifest.n_per_arm!r}; 1 to {_MAX_N} is allowed": type(manifest.n_per_arm) is int
        and 1 <= manifest.n_per_arm <= _MAX_N,
        f"interval_method: {manifest.interval_method!r}; 'clopper_pearson' is what this version decides by": (
            manifest.interval_method == "clopper_pearson"
        ),
        f"looks: {manifest.looks!r}; this version decides without": not manifest.looks,
        f"on_error: {manifest.on_error!r}; 'invalidate' or 'worst_case' is allowed": (
            manifest.on_error in ("invalidate", "worst_case")
        ),
        "tasks: none is planned": bool(manifest.tasks),
        f"arms: {sorted(manifest.arms)}; {list(ARMS)} are compared": sorted(manifest.arms) == sorted(ARMS),
        "conditions: an id is not text, or stands twice": len(set(ids)) == len(ids)
        and all(isinstance(i, str) for i in ids),
        "conditions: none of them gates": any(condition.is_gating is True for condition in manifest.conditions),
        f"experiment_id: {manifest.experiment_id!r}; text is required": isinstance(manifest.experiment_id, str),
    }
    return next((message for message, holds in checks.items() if not holds), None)


def _within(value: object, upper: float, inclusive: bool) -> bool:
    if type(value) not in (int, float):
        return False
    assert isinstance(value, int | float)
    return 0 < value <= upper if inclusive else 0 < value < upper
