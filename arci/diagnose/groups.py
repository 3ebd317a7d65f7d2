"""Failures of a run in groups by fingerprint, each with a representative and its partner of the other arm. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arci.model.trial import ARMS, Outcome

__all__ = ["Group", "failure_groups"]


@dataclass(frozen=True, slots=True)
class Group:
    """Trials that failed, or broke, in the same way."""

    fingerprint: str
    """Of a FAIL; for an ERROR its ending and blame."""
    outcome: str
    """`FAIL` or `ERROR`."""
    counts: Mapping[str, int]
    """Arm -> how many of its trials are in the group; both arms are there."""
    conditions: tuple[str, ...]
    trial_ids: tuple[str, ...]
    """In the order of the records."""
    representative: str
    """The trial that best shows what changed: of the candidate, and with a partner that passed, where there is one."""
    partner: str | None
    """The trial of the other arm with the same condition and seed, if it is recorded."""
    partner_outcome: str | None
    detail: str

    @property
    def size(self) -> int:
        return len(self.trial_ids)


def failure_groups(records: Sequence[Mapping[str, Any]]) -> list[Group]:
    """The groups of all records that are not PASS: what the candidate does more often than the baseline comes first.

    A record that says not which trial it is of is in no group: the gate has named it.
    """
    records = [record for record in records if isinstance(record.get("trial_id"), str)]
    by_trial = {record["trial_id"]: record for record in records}
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        if record.get("outcome") in (Outcome.FAIL, Outcome.ERROR):
            found.setdefault((str(record["outcome"]), _name(record)), []).append(record)
    groups = [_group(outcome, name, members, by_trial) for (outcome, name), members in found.items()]
    return sorted(groups, key=lambda g: (g.counts["baseline"] - g.counts["candidate"], -g.size, g.fingerprint))


def _name(record: Mapping[str, Any]) -> str:
    if record.get("fingerprint") is not None:
        return str(record["fingerprint"])
    return f"{record.get('ending')}|{record.get('blame')}"


def _group(
    outcome: str, name: str, members: list[Mapping[str, Any]], by_trial: Mapping[str, Mapping[str, Any]]
) -> Group:
    chosen = max(members, key=lambda record: _telling(record, by_trial))
    partner = by_trial.get(_partner_id(chosen))
    return Group(
        fingerprint=name,
        outcome=outcome,
        counts={arm: sum(1 for record in members if record.get("arm") == arm) for arm in ARMS},
        conditions=tuple(dict.fromkeys(str(record.get("condition_id")) for record in members)),
        trial_ids=tuple(str(record["trial_id"]) for record in members),
        representative=str(chosen["trial_id"]),
        partner=None if partner is None else str(partner["trial_id"]),
        partner_outcome=None if partner is None else str(partner.get("outcome")),
        detail=str(chosen.get("detail") or ""),
    )


def _telling(record: Mapping[str, Any], by_trial: Mapping[str, Mapping[str, Any]]) -> tuple[bool, bool, int]:
    """Of equals the first in the schedule: in which order trials end is chance."""
    partner, index = by_trial.get(_partner_id(record)), record.get("index")
    passes = partner is not None and partner.get("outcome") == Outcome.PASS
    return record.get("arm") == "candidate", passes, -index if isinstance(index, int) else 0


def _partner_id(record: Mapping[str, Any]) -> str:
    other: Iterable[str] = (arm for arm in ARMS if arm != record.get("arm"))
    return f"{record.get('pair_id')}:{next(iter(other))}"
