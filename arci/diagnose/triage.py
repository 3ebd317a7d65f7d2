"""From a decided run to its failures: each group with a representative, its partner of the other arm, where the two
part, what their guests wrote last, and the commands that come next. Reads the store, writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arci.diagnose.diff import CONTEXT_STEPS, Divergence, compare, divergence_document
from arci.diagnose.excerpts import Excerpt, excerpts
from arci.diagnose.groups import Group, failure_groups
from arci.diagnose.next_steps import next_commands
from arci.diagnose.traces import Trace, read_traces
from arci.gate.decide import decide
from arci.gate.decision import Decision
from arci.store.reader import read_run
from arci.store.run import StoredRun

__all__ = ["MOST_GROUPS", "Case", "Triage", "triage_document", "triage_of", "triage_run"]

MOST_GROUPS = 10
"""Groups that are told with a representative; those behind them are only counted."""
_MOST_TRIALS = 20
"""Trial ids of a group in the document."""


@dataclass(frozen=True, slots=True)
class Case:
    """One group of failures, ready to be looked into."""

    group: Group
    representative: Trace
    partner: Trace | None
    """The trial of the other arm with the same condition, task and seed; None where none is recorded."""
    divergence: Divergence | None
    """Partner (`a`) against representative (`b`); None where one of the two has no trace to compare."""
    logs: tuple[Excerpt, ...]
    partner_logs: tuple[Excerpt, ...]
    commands: Mapping[str, tuple[str, ...]]
    """`diff`, `show`, `minimize`, `bundle` -> argv, those that make sense for this group."""


@dataclass(frozen=True, slots=True)
class Triage:
    """A run's failures."""

    run: StoredRun
    decision: Decision
    cases: tuple[Case, ...]
    """What explains the verdict comes first: see `failure_groups`."""
    untold: tuple[Group, ...]
    """Groups beyond `most_groups`."""


def triage_run(directory: Path, *, most_groups: int = MOST_GROUPS) -> Triage:
    """The failures of a stored run, decided again as `arci gate` does. StoreError if there is no store."""
    run = read_run(directory)
    return triage_of(directory, run, decide(run), most_groups=most_groups)


def triage_of(
    directory: Path, run: StoredRun, decision: Decision, *, context: int = CONTEXT_STEPS, most_groups: int = MOST_GROUPS
) -> Triage:
    """The failures of a run as it was read back. `context`: steps before and after each divergence."""
    groups = failure_groups(run.records, decision)
    told, untold = groups[:most_groups], groups[most_groups:]
    wanted = {name for group in told for name in (group.representative, group.partner) if name is not None}
    records = {r["trial_id"]: r for r in run.records if isinstance(r.get("trial_id"), str) and r["trial_id"] in wanted}
    traces = read_traces(directory, records)
    cases = tuple(_case(directory, group, traces, context) for group in told)
    return Triage(run, decision, cases, tuple(untold))


def _case(directory: Path, group: Group, traces: Mapping[str, Trace], context: int) -> Case:
    mine = traces[group.representative]
    partner = traces[group.partner] if group.partner is not None else None
    return Case(
        group=group,
        representative=mine,
        partner=partner,
        divergence=_divergence(partner, mine, context),
        logs=excerpts(directory, mine.record),
        partner_logs=excerpts(directory, partner.record) if partner is not None else (),
        commands=next_commands(str(directory), group, has_partner=partner is not None),
    )


def _divergence(partner: Trace | None, mine: Trace, context: int) -> Divergence | None:
    if partner is None or not partner.events or not mine.events or partner.problem or mine.problem:
        return None
    return compare(partner.trial_id, partner.events, mine.trial_id, mine.events, context=context)


def triage_document(triage: Triage) -> dict[str, Any]:
    """The JSON object of `arci triage --json`; bounded, whatever the size of the run."""
    decision = triage.decision
    return {
        "experiment_id": decision.experiment_id,
        "verdict": decision.verdict.value,
        "exit_code": decision.verdict.exit_code,
        "reasons": list(decision.reasons),
        "groups": [_case_document(case) for case in triage.cases],
        "untold_groups": len(triage.untold),
        "untold_trials": sum(group.size for group in triage.untold),
    }


def _case_document(case: Case) -> dict[str, Any]:
    group = case.group
    return {
        "fingerprint": group.fingerprint,
        "outcome": group.outcome,
        "counts": dict(group.counts),
        "explains": group.explains,
        "deciding_counts": dict(group.deciding),
        "size": group.size,
        "conditions": list(group.conditions),
        "trial_ids": list(group.trial_ids[:_MOST_TRIALS]),
        "detail": group.detail,
        "representative": _trial_document(case.representative, case.logs),
        "partner": _trial_document(case.partner, case.partner_logs) if case.partner is not None else None,
        "divergence": divergence_document(case.divergence) if case.divergence is not None else None,
        "commands": {name: list(argv) for name, argv in case.commands.items()},
    }


def _trial_document(trace: Trace, logs: Sequence[Excerpt]) -> dict[str, Any]:
    named = {key: trace.record.get(key) for key in ("trial_id", "arm", "outcome", "ending", "blame", "detail", "seed")}
    kept = [{"role": log.role, "stream": log.stream, "bytes": log.total_bytes, "tail": log.text} for log in logs]
    return {**named, "problem": trace.problem, "logs": kept}
