"""What speaks against using the evidence, and how it is told without a line per trial. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arci.store.run import StoreProblem

__all__ = ["Objection", "of_store", "told"]

_NAMED = 10
"""So many objections of one kind are told in full."""


@dataclass(frozen=True, slots=True)
class Objection:
    """One thing that does not hold. `kind` groups objections that have the same cause."""

    kind: str
    message: str
    trial_id: str | None = None

    def __str__(self) -> str:
        return self.message if self.trial_id is None else f"trial {self.trial_id}: {self.message}"


def of_store(problem: StoreProblem) -> Objection:
    """What the reader of the store found."""
    file = problem.where.split(":")[0]
    return Objection(f"damage in {file}", f"{problem.where}: {problem.message}", problem.trial_id)


def told(objections: Iterable[Objection]) -> tuple[str, ...]:
    """As reasons of a decision: by kind in order of appearance, the first ten of each in full, the rest counted."""
    by_kind: dict[str, list[Objection]] = {}
    for objection in objections:
        by_kind.setdefault(objection.kind, []).append(objection)
    reasons = []
    for kind, group in by_kind.items():
        reasons += [str(objection) for objection in group[:_NAMED]]
        if len(group) > _NAMED:
            reasons.append(f"and {len(group) - _NAMED} more like these: {kind}")
    return tuple(reasons)
