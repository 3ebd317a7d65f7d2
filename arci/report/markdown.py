"""A decision as GitHub Markdown, fit for a step summary or a comment: tables, no HTML, nothing of an agent's as markup.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from arci.gate.decision import Decision
from arci.report.escape import clip, code, markdown
from arci.report.usage import use_rows
from arci.report.view import ArmView, ConditionView, ReportView, build_view
from arci.report.words import bounds, counted, headline, prior_run, rate, rule, seconds
from arci.store.run import StoredRun

__all__ = ["render_markdown"]

_GROUPS, _FLIPS, _REASONS, _CELL = 10, 10, 30, 200


def render_markdown(decision: Decision, run: StoredRun) -> str:
    """The report of a run, ended by a newline."""
    return "\n".join(_lines(build_view(decision, run))) + "\n"


def _lines(view: ReportView) -> Iterator[str]:
    decision = view.decision
    yield f"## {decision.verdict}: {markdown(decision.experiment_id)}"
    yield ""
    yield headline(decision)
    yield f"Exit code {decision.verdict.exit_code}. Rule: {markdown(rule(decision))}."
    yield ""
    for reason in decision.reasons[:_REASONS]:
        yield f"- {markdown(reason)}"
    for condition in view.conditions:
        yield ""
        yield from _condition(condition, decision)
    yield ""
    yield from _circumstances(view)


def _condition(view: ConditionView, decision: Decision) -> Iterator[str]:
    decided = view.decision
    said = decided.verdict if decided.verdict is not None else "reported, does not gate"
    yield f"### {markdown(decided.condition_id)} ({markdown(view.bucket)}): {said}"
    yield ""
    yield from _table(view)
    yield ""
    against = f" against {-decision.delta:.4f}" if decision.delta is not None else ""
    over = ", best and worst case of the ERROR trials" if any(a.result.errors for a in view.arms) else ""
    yield f"Candidate minus baseline: **{bounds(decided.delta_low, decided.delta_high)}**{against}{over}."
    untold = [r for r in decided.reasons if f"{decided.condition_id}: {r}" not in decision.reasons]
    if untold:
        yield ""
        yield from (f"- {markdown(reason)}" for reason in untold)
    yield from _failures(view)
    yield from _tasks(view)
    yield from _flips(view)


def _table(view: ConditionView) -> Iterator[str]:
    arms = view.arms
    results = [arm.result for arm in arms]
    yield _row("", *(markdown(f"{arm.name} ({arm.label})") for arm in arms))
    yield "|---|---|---|"
    yield _row("passed", *(f"{r.successes}/{r.n}" for r in results))
    yield _row("rate", *(rate(r.successes, r.n) for r in results))
    yield _row("bounds", *(bounds(r.low, r.high) for r in results))
    yield _row("Wilson 95 %, shown only", *(bounds(r.wilson_low, r.wilson_high) for r in results))
    if any(arm.result.errors or arm.result.n != arm.planned for arm in arms):
        yield _row("planned", *(str(arm.planned) for arm in arms))
        yield _row("valid", *(str(arm.valid) for arm in arms))
        yield _row("ERROR by blame", *(_excluded(arm) for arm in arms))
        yield _row("passed of valid, never decides", *(f"{a.result.successes}/{a.valid}" for a in arms))
    if any(arm.interrupted for arm in arms):
        yield _row("interrupted", *(str(arm.interrupted) for arm in arms))
    for fault in view.faults:
        told = (f"{fault.injections[a.name]} in {fault.trials[a.name]} of {a.result.n} trials" for a in arms)
        yield _row(f"injected: {markdown(fault.description)}", *told)
    yield _row("distinct traces", *(str(arm.distinct_traces) for arm in arms))
    yield _row("agent time, median and longest", *(_times(arm) for arm in arms))
    for label, cells in use_rows([arm.use for arm in arms]):
        yield _row(label, *cells)


def _failures(view: ConditionView) -> Iterator[str]:
    groups = [(arm.name, group) for arm in view.arms for group in arm.failures[:_GROUPS]]
    if not groups:
        return
    yield ""
    yield _row("arm", "not passed", "fingerprint", "such as", "detail")
    yield "|---|---|---|---|---|"
    for arm, group in groups:
        fingerprint, detail = markdown(clip(group.fingerprint, _CELL)), markdown(clip(group.detail, _CELL))
        yield _row(arm, f"{group.count} x {group.outcome}", fingerprint, code(group.example), detail)
    for arm_view in view.arms:
        rest = arm_view.failures[_GROUPS:]
        if rest:
            yield _row(arm_view.name, f"{sum(g.count for g in rest)} in {counted(len(rest), 'more group')}", "", "", "")


def _tasks(view: ConditionView) -> Iterator[str]:
    if not view.tasks:
        return
    yield ""
    yield _row("task", *(f"{arm.name} passed" for arm in view.arms))
    yield "|---|---|---|"
    for task in view.tasks:
        yield _row(code(task.task_id), *("{}/{}".format(*task.counts[arm.name]) for arm in view.arms))


def _flips(view: ConditionView) -> Iterator[str]:
    if view.bucket != "benign":
        return
    for arm in view.arms:
        flips = [flip for flip in view.flips if flip.arm == arm.name]
        yield ""
        yield f"Outcomes of the {arm.name} that differ from the same seed without the fault: {len(flips)}"
        yield ""
        yield from (f"- {code(f.trial_id)}: {f.clean} without, {f.benign} with it" for f in flips[:_FLIPS])


def _circumstances(view: ReportView) -> Iterator[str]:
    yield from (f"- {markdown(fact)}" for fact in view.circumstances)
    yield from (f"- warning: {markdown(warning)}" for warning in view.warnings)
    yield from (f"- note: {markdown(note)}" for note in view.notes)
    if view.phases:
        told = ", ".join(f"{markdown(name)} {seconds(value)}" for name, value in view.phases.items())
        yield f"- median time by phase: {told}"
    yield from (f"- prior run: {markdown(prior_run(prior))}" for prior in view.decision.prior_runs)
    yield f"- manifest {code(view.decision.manifest_sha256)}, records {code(view.decision.trials_sha256)}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _excluded(arm: ArmView) -> str:
    return ", ".join(f"{markdown(blame)} {count}" for blame, count in sorted(arm.excluded.items())) or "0"


def _times(arm: ArmView) -> str:
    return "-" if arm.agent_seconds is None else "{}, {}".format(*map(seconds, arm.agent_seconds))
