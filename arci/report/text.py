"""A decision as plain text: no colour, no control character, at most 100 columns. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from arci.gate.decision import Decision
from arci.report.escape import fold, pad, printable
from arci.report.usage import use_rows
from arci.report.view import ArmView, ConditionView, FailureGroup, ReportView, build_view
from arci.report.words import bounds, counted, headline, prior_run, rate, rule, seconds
from arci.store.run import StoredRun

__all__ = ["render_text"]

_LABEL, _CELL = 20, 36
_GROUPS, _FLIPS = 10, 10


def render_text(decision: Decision, run: StoredRun) -> str:
    """The report of a run, ended by a newline."""
    return "\n".join(line.rstrip() for line in _lines(build_view(decision, run))) + "\n"


def _lines(view: ReportView) -> Iterator[str]:
    decision = view.decision
    yield from fold(f"{decision.verdict}  {decision.experiment_id}  (exit {decision.verdict.exit_code})")
    yield from fold(headline(decision))
    yield from fold(f"rule: {rule(decision)}")
    yield ""
    yield "why"
    for reason in decision.reasons:
        yield from fold(reason, "  - ", "    ")
    for condition in view.conditions:
        yield ""
        yield from _condition(condition, decision)
    yield ""
    yield from _circumstances(view)


def _condition(view: ConditionView, decision: Decision) -> Iterator[str]:
    decided = view.decision
    said = decided.verdict if decided.verdict is not None else "reported, does not gate"
    yield from fold(f"condition {decided.condition_id} ({view.bucket}): {said}")
    yield from _table(view)
    against = f" against {-decision.delta:.4f}" if decision.delta is not None else ""
    over = ", best and worst case of the ERROR trials" if any(a.result.errors for a in view.arms) else ""
    yield from fold(
        f"candidate - baseline: {bounds(decided.delta_low, decided.delta_high)}{against}{over}", "  ", "    "
    )
    for reason in decided.reasons:
        if f"{decided.condition_id}: {reason}" not in decision.reasons:
            yield from fold(reason, "  ", "    ")
    yield from _faults(view)
    for arm in view.arms:
        yield from _failures(arm)
    if view.tasks:
        yield "  passed by task"
        for task in view.tasks:
            yield _row(f"  {task.task_id}", *("{}/{}".format(*task.counts[arm.name]) for arm in view.arms))
    yield from _flips(view)


def _table(view: ConditionView) -> Iterator[str]:
    results = [arm.result for arm in view.arms]
    yield _row("", *(f"{arm.name} ({arm.label})" for arm in view.arms))
    yield _row("passed", *(f"{r.successes}/{r.n}" for r in results))
    yield _row("rate", *(rate(r.successes, r.n) for r in results))
    yield _row("bounds", *(bounds(r.low, r.high) for r in results))
    yield _row(
        "Wilson 95 %",
        *(bounds(r.wilson_low, r.wilson_high) + " shown only" * (r.wilson_low is not None) for r in results),
    )
    if any(r.errors or r.n != arm.planned for r, arm in zip(results, view.arms, strict=True)):
        yield _row("planned", *(str(arm.planned) for arm in view.arms))
        yield _row("valid", *(str(arm.valid) for arm in view.arms))
        yield _row("ERROR by blame", *(_excluded(arm) for arm in view.arms))
        yield _row("passed of valid", *(f"{a.result.successes}/{a.valid} (never decides)" for a in view.arms))
    if any(arm.interrupted for arm in view.arms):
        yield _row("interrupted", *(str(arm.interrupted) for arm in view.arms))
    yield _row("distinct traces", *(str(arm.distinct_traces) for arm in view.arms))
    yield _row("agent time", *(_times(arm) for arm in view.arms))
    for label, cells in use_rows([arm.use for arm in view.arms]):
        yield _row(label, *cells)


def _faults(view: ConditionView) -> Iterator[str]:
    for fault in view.faults:
        yield from fold(fault.description, "  fault ", "    ")
        told = (
            f"{a.name} {fault.injections[a.name]} in {fault.trials[a.name]} of {a.result.n} trials" for a in view.arms
        )
        yield from fold(f"injected: {', '.join(told)}", "    ", "      ")


def _failures(arm: ArmView) -> Iterator[str]:
    if not arm.failures:
        return
    yield f"  not passed: {arm.name}"
    for group in arm.failures[:_GROUPS]:
        yield from _group(group)
    if len(arm.failures) > _GROUPS:
        rest = arm.failures[_GROUPS:]
        yield f"    and {counted(sum(group.count for group in rest), 'trial')} in {counted(len(rest), 'more group')}"


def _group(group: FailureGroup) -> Iterator[str]:
    yield from fold(f"{group.count} x {group.outcome} {group.fingerprint}", "    ", "        ")
    yield from fold(f"such as {group.example}: {group.detail}", "      ", "        ")


def _flips(view: ConditionView) -> Iterator[str]:
    if view.bucket != "benign":
        return
    for arm in view.arms:
        flips = [flip for flip in view.flips if flip.arm == arm.name]
        yield f"  outcomes of the {arm.name} that differ from the same seed without the fault: {len(flips)}"
        for flip in flips[:_FLIPS]:
            yield from fold(f"{flip.trial_id}: {flip.clean} without, {flip.benign} with it", "    ", "      ")
        if len(flips) > _FLIPS:
            yield f"    and {len(flips) - _FLIPS} more"


def _circumstances(view: ReportView) -> Iterator[str]:
    for fact in view.circumstances:
        yield from fold(fact)
    for warning in view.warnings:
        yield from fold(f"warning: {warning}")
    for note in view.notes:
        yield from fold(f"note: {note}")
    if view.phases:
        told = ", ".join(f"{name} {seconds(value)}" for name, value in view.phases.items())
        yield from fold(f"median time by phase: {told}")
    for prior in view.decision.prior_runs:
        yield from fold(f"prior run: {prior_run(prior)}")
    yield from fold(f"manifest {view.decision.manifest_sha256}")
    yield from fold(f"records  {view.decision.trials_sha256}")


def _row(label: str, *cells: str) -> str:
    return f"  {pad(label, _LABEL)}{''.join(f'  {pad(cell, _CELL)}' for cell in cells)}"


def _excluded(arm: ArmView) -> str:
    return ", ".join(f"{printable(blame)} {count}" for blame, count in sorted(arm.excluded.items())) or "0"


def _times(arm: ArmView) -> str:
    return "-" if arm.agent_seconds is None else "median {}, longest {}".format(*map(seconds, arm.agent_seconds))
