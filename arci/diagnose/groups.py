"""Failures of a run in groups by fingerprint, each with a representative and its partner of the other arm. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.gate.decision import ConditionDecision, Decision
from arci.model.trial import ARMS, Outcome, Verdict

__all__ = ["Group", "deciding_conditions", "failure_groups"]


@dataclass(frozen=True, slots=True)
class Group:
    """Trials that failed, or broke, in the same way."""

    fingerprint: str
    """Of a FAIL; for an ERROR its ending and blame."""
    outcome: str
    """`FAIL` or `ERROR`."""
    counts: Mapping[str, int]
    """Arm -> how many of its trials are in the group; both arms are there."""
    deciding: Mapping[str, int]
    """The same within the conditions that the verdict comes from."""
    weight: int
    """How much of the verdict it explains: by how many trials the candidate has more of it there; of an ERROR, how many
    broke there; 0: nothing."""
    conditions: tuple[str, ...]
    trial_ids: tuple[str, ...]
    """In the order of the records."""
    representative: str
    """The trial that best shows what changed: of the candidate, of a condition that the verdict comes from, and with a
    partner that passed, as far as there is one."""
    partner: str | None
    """The trial of the other arm with the same condition and seed, if it is recorded."""
    partner_outcome: str | None
    detail: str

    @property
    def size(self) -> int:
        return len(self.trial_ids)

    @property
    def explains(self) -> bool:
        return self.weight > 0


def deciding_conditions(decision: Decision) -> tuple[ConditionDecision, ...]:
    """Those that the verdict comes from: the gating ones that have it themselves; all that gate where none has."""
    gating = tuple(condition for condition in decision.conditions if condition.is_gating)
    return tuple(condition for condition in gating if condition.verdict is decision.verdict) or gating


def failure_groups(records: Sequence[Mapping[str, Any]], decision: Decision) -> list[Group]:
    """The groups of all records that are not PASS. Those that explain the verdict come first, the largest difference of
    the arms within the conditions that it comes from before others; then the rest by size.

    A record that says not which trial it is of is in no group: the gate has named it.
    """
    records = [record for record in records if isinstance(record.get("trial_id"), str)]
    by_trial = {record["trial_id"]: record for record in records}
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        if record.get("outcome") in (Outcome.FAIL, Outcome.ERROR):
            found.setdefault((str(record["outcome"]), _name(record)), []).append(record)
    deciding = frozenset(condition.condition_id for condition in deciding_conditions(decision))
    is_invalid = decision.verdict is Verdict.ERROR
    groups = [
        _group((outcome, name), members, by_trial, deciding, is_invalid) for (outcome, name), members in found.items()
    ]
    return sorted(groups, key=lambda group: (-group.weight, -group.size, group.fingerprint))


def _name(record: Mapping[str, Any]) -> str:
    if record.get("fingerprint") is not None:
        return str(record["fingerprint"])
    return f"{record.get('ending')}|{record.get('blame')}"


def _group(
    key: tuple[str, str],
    members: list[Mapping[str, Any]],
    by_trial: Mapping[str, Mapping[str, Any]],
    deciding: Collection[str],
    is_invalid: bool,
) -> Group:
    outcome, name = key
    chosen = max(members, key=lambda record: _telling(record, by_trial, deciding))
    partner = by_trial.get(_partner_id(chosen))
    there = _by_arm(record for record in members if record.get("condition_id") in deciding)
    broke = sum(there.values()) if outcome == Outcome.ERROR else 0
    return Group(
        fingerprint=name,
        outcome=outcome,
        counts=_by_arm(members),
        deciding=there,
        weight=broke if is_invalid else max(0, there["candidate"] - there["baseline"]),
        conditions=tuple(dict.fromkeys(str(record.get("condition_id")) for record in members)),
        trial_ids=tuple(str(record["trial_id"]) for record in members),
        representative=str(chosen["trial_id"]),
        partner=None if partner is None else str(partner["trial_id"]),
        partner_outcome=None if partner is None else str(partner.get("outcome")),
        detail=str(chosen.get("detail") or ""),
    )


def _by_arm(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    arms = [record.get("arm") for record in records]
    return {arm: arms.count(arm) for arm in ARMS}


def _telling(
    record: Mapping[str, Any], by_trial: Mapping[str, Mapping[str, Any]], deciding: Collection[str]
) -> tuple[bool, bool, bool, int]:
    """Of equals the first in the schedule: in which order trials end is chance."""
    partner, index = by_trial.get(_partner_id(record)), record.get("index")
    passes = partner is not None and partner.get("outcome") == Outcome.PASS
    decides = record.get("condition_id") in deciding
    return record.get("arm") == "candidate", decides, passes, -index if isinstance(index, int) else 0


def _partner_id(record: Mapping[str, Any]) -> str:
    other: Iterable[str] = (arm for arm in ARMS if arm != record.get("arm"))
    return f"{record.get('pair_id')}:{next(iter(other))}"
