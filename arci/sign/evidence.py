"""A run store re-checked as a whole: files, seals, chain, identities, and the decision that follows. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from arci.gate.decide import decide
from arci.gate.decision import Decision
from arci.gate.identity import check_records
from arci.gate.plan import planned_trials, read_manifest
from arci.store.layout import RUN
from arci.store.run import StoredRun
from arci.store.shards import shard_of

__all__ = ["Evidence", "examine"]

_MAY_BE_MISSING = "not recorded"
"""The kind of objection of a planned trial without a record: a stopped run and a shard are sound without it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    problems: tuple[str, ...]
    """Everything that does not hold."""
    decision: Decision | None
    """What the records decide; None for a shard, which decides nothing."""


def examine(stored: StoredRun) -> Evidence:
    """Never raises: what cannot be used is a problem."""
    problems = [str(problem) for problem in stored.problems]
    manifest, objections = read_manifest(stored.manifest)
    if manifest is not None:
        plan, unplanned = planned_trials(manifest, None)
        objections += [*unplanned, *check_records(manifest, plan, stored.records)[1]]
    problems += [str(objection) for objection in objections if objection.kind != _MAY_BE_MISSING]
    info = stored.info
    if manifest is not None and info is not None:
        stated = {"experiment_id": manifest.experiment_id, "manifest_sha256": manifest.sha256}
        problems += [f"{RUN}: its {key} is another manifest's" for key, value in stated.items() if info[key] != value]
    is_shard = info is not None and shard_of(info) is not None
    return Evidence(tuple(dict.fromkeys(problems)), None if is_shard else decide(stored))
