"""Outcomes that a benign fault changed: pairs that end otherwise than the same seed in the clean condition. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arci.gate.result import Result
from arci.model.manifest import Manifest
from arci.model.trial import Outcome

__all__ = ["Flip", "benign_flips"]


@dataclass(frozen=True, slots=True)
class Flip:
    """A trial of a benign condition whose outcome differs from the clean one's. Neither is ERROR."""

    condition_id: str
    arm: str
    trial_id: str
    clean_trial_id: str
    clean: Outcome
    benign: Outcome


def benign_flips(manifest: Manifest, results: Iterable[Result]) -> list[Flip]:
    """In the order of conditions, then arms, then index. Empty without a clean condition."""
    clean_id = next((c.id for c in manifest.conditions if c.bucket == "clean"), None)
    by_place = {(r.condition_id, r.arm, r.index): r for r in results if r.outcome is not Outcome.ERROR}
    flips = []
    for condition in manifest.conditions:
        if condition.bucket != "benign":
            continue
        for (condition_id, arm, index), result in sorted(by_place.items()):
            clean = by_place.get((clean_id, arm, index)) if clean_id is not None else None
            if condition_id == condition.id and clean is not None and clean.outcome is not result.outcome:
                flips.append(Flip(condition_id, arm, result.trial_id, clean.trial_id, clean.outcome, result.outcome))
    return flips
