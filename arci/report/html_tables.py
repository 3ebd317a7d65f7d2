"""A condition as HTML: counts of both arms, what was injected, tasks, what a benign fault changed. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from arci.gate.decision import Decision
from arci.report.html_plot import rates_figure
from arci.report.html_text import code, row, said, table
from arci.report.usage import use_rows
from arci.report.view import ArmView, ConditionView, FaultView
from arci.report.words import bounds, rate, seconds

__all__ = ["MOST_FLIPS", "MOST_TASKS", "condition_section"]

MOST_TASKS, MOST_FLIPS, _MOST_REASONS = 200, 30, 20

_UNGATED = "reported, does not gate"


def condition_section(view: ConditionView, decision: Decision, anchor: str, *, is_folded: bool) -> str:
    """All of one condition. `anchor`: the id of its element. Folded, its head says what came of it."""
    decided = view.decision
    verdict = decided.verdict.value if decided.verdict is not None else None
    mark = f'<strong class="{verdict}">{verdict}</strong>' if verdict else _UNGATED
    head = f"<h3>{said(decided.condition_id)} ({said(view.bucket)}): {mark}</h3>"
    content = "".join(_parts(view, decision))
    if not is_folded:
        return f'<section id="{anchor}">\n{head}\n{content}</section>\n'
    passed = " against ".join(f"{arm.result.successes}/{arm.result.n}" for arm in view.arms)
    summary = f'<summary>{head} <span class="quiet">passed {passed}</span></summary>'
    return f'<details class="condition" id="{anchor}">{summary}\n{content}</details>\n'


def _parts(view: ConditionView, decision: Decision) -> Iterator[str]:
    decided = view.decision
    against = f" against {-decision.delta:.4f}" if decision.delta is not None else ""
    over = ", best and worst case of the ERROR trials" if any(a.result.errors for a in view.arms) else ""
    difference = bounds(decided.delta_low, decided.delta_high)
    yield f"<p>Candidate minus baseline: <strong>{difference}</strong>{against}{over}.</p>\n"
    told = {*decision.reasons, f"{decided.condition_id}: {_UNGATED}"}
    untold = [r for r in decided.reasons if f"{decided.condition_id}: {r}" not in told][:_MOST_REASONS]
    if untold:
        yield f"<ul>{''.join(f'<li>{said(reason)}</li>' for reason in untold)}</ul>\n"
    yield rates_figure(decided)
    heads = ["", *(said(f"{arm.name} ({arm.label})", 80) for arm in view.arms)]
    yield table("Both arms", heads, _counts(view))
    yield from _injections(view)
    yield from _tasks(view)
    yield from _flips(view)


def _counts(view: ConditionView) -> Iterator[str]:
    arms = view.arms
    results = [arm.result for arm in arms]
    yield row("passed", *(f"{r.successes}/{r.n}" for r in results))
    yield row("rate", *(rate(r.successes, r.n) for r in results))
    yield row("bounds", *(bounds(r.low, r.high) for r in results))
    yield row("Wilson 95 %, shown only", *(bounds(r.wilson_low, r.wilson_high) for r in results))
    if any(arm.result.errors or arm.result.n != arm.planned for arm in arms):
        yield row("planned", *(str(arm.planned) for arm in arms))
        yield row("valid", *(str(arm.valid) for arm in arms))
        yield row("ERROR by blame", *(_excluded(arm) for arm in arms))
        yield row("passed of valid, never decides", *(f"{a.result.successes}/{a.valid}" for a in arms))
    if any(arm.interrupted for arm in arms):
        yield row("interrupted", *(str(arm.interrupted) for arm in arms))
    for name in sorted({name for arm in arms for name in view.decision.hard_violations.get(arm.name, {})}):
        broken = (view.decision.hard_violations.get(arm.name, {}).get(name, 0) for arm in arms)
        yield row(f"broke the hard rule {said(name)}", *map(str, broken))
    yield row("distinct traces", *(str(arm.distinct_traces) for arm in arms))
    yield row("agent time, median and longest", *(_times(arm) for arm in arms))
    for label, cells in use_rows([arm.use for arm in arms]):
        yield row(label, *map(said, cells))


def _injections(view: ConditionView) -> Iterator[str]:
    if not view.faults:
        return
    yield table(
        "Injections", ["fault", *(arm.name for arm in view.arms)], (_injected(view, fault) for fault in view.faults)
    )


def _injected(view: ConditionView, fault: FaultView) -> str:
    told = (f"{fault.injections[a.name]} in {fault.trials[a.name]} of {a.result.n} trials" for a in view.arms)
    return row(said(fault.description), *told)


def _tasks(view: ConditionView) -> Iterator[str]:
    if not view.tasks:
        return
    told = view.tasks[:MOST_TASKS]
    rows = (row(code(t.task_id), *("{}/{}".format(*t.counts[arm.name]) for arm in view.arms)) for t in told)
    yield table("Passed by task", ["task", *(arm.name for arm in view.arms)], rows)
    if len(view.tasks) > len(told):
        yield f'<p class="quiet">The first {len(told)} of {len(view.tasks)} tasks.</p>\n'


def _flips(view: ConditionView) -> Iterator[str]:
    if view.bucket != "benign":
        return
    for arm in view.arms:
        flips = [flip for flip in view.flips if flip.arm == arm.name]
        yield f"<p>Outcomes of the {arm.name} that differ from the same seed without the fault: {len(flips)}</p>\n"
        told = (f"<li>{code(f.trial_id)}: {f.clean} without, {f.benign} with it</li>" for f in flips[:MOST_FLIPS])
        yield f"<ul>{''.join(told)}</ul>\n" if flips else ""


def _excluded(arm: ArmView) -> str:
    return ", ".join(f"{said(blame)} {count}" for blame, count in sorted(arm.excluded.items())) or "0"


def _times(arm: ArmView) -> str:
    return "-" if arm.agent_seconds is None else "{}, {}".format(*map(seconds, arm.agent_seconds))
