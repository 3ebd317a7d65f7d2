"""The failures of a run as plain text: no control character, at most 100 columns, bounded. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arci.diagnose.excerpts import Excerpt
from arci.diagnose.groups import Group
from arci.diagnose.next_steps import shell_line
from arci.diagnose.traces import Trace
from arci.diagnose.triage import Case, Triage
from arci.gate.decision import Decision
from arci.report.diff import render_diff
from arci.report.escape import fold, printable
from arci.report.words import conditions_of, counted, headline

__all__ = ["render_triage"]

_REASONS, _LISTED = 10, 30


def render_triage(triage: Triage) -> str:
    """What failed, where it parts from what did not, and what to do next; ended by a newline."""
    return "\n".join(line.rstrip() for line in _lines(triage)) + "\n"


def _lines(triage: Triage) -> Iterator[str]:
    decision = triage.decision
    yield from fold(f"{decision.verdict}  {decision.experiment_id}  (exit {decision.verdict.exit_code})")
    yield from fold(headline(decision))
    for reason in decision.reasons[:_REASONS]:
        yield from fold(reason, "  - ", "    ")
    if not triage.cases:
        yield ""
        yield "No recorded trial failed or broke."
    total = len(triage.cases) + len(triage.untold)
    for number, case in enumerate(triage.cases, 1):
        yield ""
        yield from _case(case, decision, number, total)
    if triage.untold:
        yield ""
        yield from _untold(triage.untold)


def _untold(groups: Sequence[Group]) -> Iterator[str]:
    yield f"{counted(len(groups), 'more group')} (--groups N tells more of them)"
    for group in groups[:_LISTED]:
        yield from fold(f"{_counts(group)}: {group.outcome} {group.fingerprint}", "  ", "    ")
    if len(groups) > _LISTED:
        rest = groups[_LISTED:]
        yield f"  and {counted(sum(group.size for group in rest), 'trial')} in {len(rest)} more"


def _counts(group: Group) -> str:
    return ", ".join(f"{arm} {count}" for arm, count in group.counts.items())


def _case(case: Case, decision: Decision, number: int, total: int) -> Iterator[str]:
    group = case.group
    yield from fold(f"group {number} of {total}: {group.outcome} {group.fingerprint}")
    where = "condition" if len(group.conditions) == 1 else "conditions"
    yield from fold(f"{_counts(group)}; {where} {conditions_of(decision, group.conditions)}", "  ", "    ")
    if group.deciding != group.counts and group.explains:
        told = ", ".join(f"{arm} {count}" for arm, count in group.deciding.items())
        yield from fold(f"in what the verdict comes from: {told}", "  ", "    ")
    if group.detail:
        yield from fold(group.detail, "  ", "    ")
    if case.partner is None:
        yield from fold(f"such as {group.representative}; no trial of the other arm with its seed", "  ", "    ")
    else:
        yield from fold(
            f"such as {group.representative}; of the other arm, same seed: {group.partner} {group.partner_outcome}",
            "  ",
            "    ",
        )
    yield ""
    yield from _traces(case)
    for trace, logs in ((case.partner, case.partner_logs), (case.representative, case.logs)):
        yield from _logs(trace, logs)
    if case.commands:
        yield ""
        yield "next"
        # Not folded: a command is there to be copied.
        yield from (f"  {printable(shell_line(argv))}" for argv in case.commands.values())


def _traces(case: Case) -> Iterator[str]:
    for trace in (case.partner, case.representative):
        if trace is not None and trace.problem is not None:
            yield from fold(f"{trace.trial_id}: {trace.problem}")
    if case.divergence is not None and case.partner is not None:
        yield from render_diff(case.divergence, case.partner.record, case.representative.record).splitlines()
    elif case.partner is not None:
        yield "no two traces to compare"


def _logs(trace: Trace | None, logs: Sequence[Excerpt]) -> Iterator[str]:
    for log in logs:
        assert trace is not None
        shown = "" if log.is_whole else ", its end"
        yield ""
        yield from fold(f"{log.stream} of {log.role} of {trace.trial_id} ({log.total_bytes} bytes{shown})")
        for line in log.text.splitlines():
            yield from fold(printable(line), "  | ", "  | ")
