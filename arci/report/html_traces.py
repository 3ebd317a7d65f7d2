"""Groups of failures as HTML: counts, two traces side by side, what guests wrote, what to do next. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arci.diagnose.diff import Divergence, Side
from arci.diagnose.excerpts import Excerpt
from arci.diagnose.groups import Group
from arci.diagnose.next_steps import shell_line
from arci.diagnose.traces import Trace
from arci.diagnose.triage import Case, Triage
from arci.report.diff_words import difference_at, injection_words, parting_words, step_words
from arci.report.html_text import CELL, code, lines_said, said, table
from arci.report.words import conditions_of, counted

__all__ = ["MOST_LISTED", "failures_section"]

MOST_LISTED = 100
"""Groups in the table; what is behind them is counted."""
_ORDER = "Those that explain the verdict come first; the others by size."
_HEADING = 100
"""Columns of a fingerprint in the heading of its group."""


def failures_section(triage: Triage) -> str:
    """The table of all groups, and each told group by itself: the content of a section."""
    return "".join(_parts(triage))


def _parts(triage: Triage) -> Iterator[str]:
    groups = [*(case.group for case in triage.cases), *triage.untold]
    if not groups:
        yield "<p>No recorded trial failed or broke.</p>\n"
    else:
        yield f"<p>Trials of both arms that are not PASS, by fingerprint. {_ORDER}</p>\n"
        rows = (_listed(group, number, triage) for number, group in enumerate(groups[:MOST_LISTED], 1))
        yield table("Groups", ["group", "outcome", "baseline", "candidate", "conditions"], rows, "stack")
    rest = groups[MOST_LISTED:]
    if rest:
        trials = counted(sum(group.size for group in rest), "trial")
        yield f'<p class="quiet">And {trials} in {counted(len(rest), "more group")}.</p>\n'
    if triage.untold:
        yield f'<p class="quiet">Traces are shown of the first {counted(len(triage.cases), "group")}.</p>\n'
    for number, case in enumerate(triage.cases, 1):
        yield from _case(case, number)


def _listed(group: Group, number: int, triage: Triage) -> str:
    fingerprint = code(group.fingerprint)
    name = f'<a href="#group-{number}">{number}</a>' if number <= len(triage.cases) else str(number)
    cells = {
        "outcome": said(group.outcome),
        **{arm: str(count) for arm, count in group.counts.items()},
        "conditions": said(conditions_of(triage.decision, group.conditions)),
    }
    told_cells = "".join(f'<td data-name="{key}">{cell}</td>' for key, cell in cells.items())
    return f'<tr><th scope="row">{name}: {fingerprint}</th>{told_cells}</tr>\n'


def _case(case: Case, number: int) -> Iterator[str]:
    group = case.group
    yield f'<section id="group-{number}" class="group">\n'
    yield f"<h3>Group {number}: {said(group.outcome)} {code(group.fingerprint, _HEADING)}</h3>\n"
    if group.detail:
        yield f"<p>{said(group.detail)}</p>\n"
    if group.explains and group.deciding != group.counts:
        told = ", ".join(f"{arm} {count}" for arm, count in group.deciding.items())
        yield f"<p>In what the verdict comes from: {told}.</p>\n"
    yield table("Shown here", ["trial", "id", "outcome", "ending", "seed"], _trials(case), "stack")
    for trace in (case.partner, case.representative):
        if trace is not None and trace.problem is not None:
            yield f'<p class="warning">{code(trace.trial_id)}: {said(trace.problem)}</p>\n'
    if case.divergence is not None:
        yield from _divergence(case.divergence)
    else:
        yield "<p>There are no two traces to compare.</p>\n"
    for trace, logs in ((case.partner, case.partner_logs), (case.representative, case.logs)):
        yield from _logs(trace, logs)
    if case.commands:
        yield "<h4>Next</h4>\n"
        yield from (f'<pre class="command">{lines_said(shell_line(argv))}</pre>\n' for argv in case.commands.values())
    yield "</section>\n"


def _trials(case: Case) -> Iterator[str]:
    for name, trace in (("of the other arm, same seed", case.partner), ("of this group", case.representative)):
        if trace is None:
            yield f'<tr><th scope="row">{name}</th><td data-name="id" colspan="4">none is recorded</td></tr>\n'
            continue
        ending = said(trace.record.get("ending"))
        cells = {"id": code(trace.trial_id), "outcome": said(trace.record.get("outcome")), "ending": ending}
        cells["seed"] = said(trace.record.get("seed"))
        told = "".join(f'<td data-name="{key}">{cell}</td>' for key, cell in cells.items())
        yield f'<tr><th scope="row">{name}</th>{told}</tr>\n'


def _divergence(found: Divergence) -> Iterator[str]:
    differs = difference_at(found)
    where = f" {code(differs.path)}: {code(differs.a)} against {code(differs.b)}." if differs is not None else ""
    yield f"<p>{said(parting_words(found))}{where}</p>\n"
    told = [code(injection_words(side.last_injection)) if side.last_injection else "none" for side in _sides(found)]
    before = "before that" if found.index is not None else "in them"
    both = told[0] if told[0] == told[1] else f"{told[0]} against {told[1]}"
    yield f"<p>Last injection {before}: {both}.</p>\n"
    shown = max(len(found.a.steps), len(found.b.steps))
    longest = max(found.a.count, found.b.count)
    if shown < longest:
        first, last = found.first + 1, found.first + shown
        yield f'<p class="quiet">Steps {first} to {last} of {longest}; `arci diff --all-steps` has all.</p>\n'
    heads = "".join(f'<th scope="col">{said(side.trial_id)}</th>' for side in _sides(found))
    yield (
        '<table class="trace" role="table"><caption>The two traces. '
        '<span class="kind key-injected">injected</span> is what a fault did.</caption>\n'
        f'<thead><tr role="row"><th scope="col" class="number">step</th>{heads}</tr></thead>\n<tbody>\n'
    )
    yield from (_step_row(found, offset) for offset in range(shown))
    yield "</tbody></table>\n"


def _sides(found: Divergence) -> tuple[Side, Side]:
    return found.a, found.b


def _step_row(found: Divergence, offset: int) -> str:
    number = found.first + offset
    parting = number == found.index
    mark = ' class="parting"' if parting else ""
    head = f'<td role="cell" class="number">{number + 1}</td>'
    if found.index is None or number < found.index:
        both = _step(found.a, offset)
        return f'<tr role="row"{mark}>{head}<td role="cell" class="both" colspan="2">{both}</td></tr>\n'
    cells = "".join(_side_cell(found, side, offset, parting) for side in _sides(found))
    return f'<tr role="row"{mark}>{head}{cells}</tr>\n'


def _side_cell(found: Divergence, side: Side, offset: int, parting: bool) -> str:
    here = '<span class="here">parts here</span>' if parting else ""
    if offset < len(side.steps):
        kind, content = "side", _step(side, offset)
    else:
        kind, content = "side ended", "ended" if found.first + offset == side.count else ""
    arm = said(side.trial_id.rpartition(":")[2], 40)
    return f'<td role="cell" class="{kind}" data-arm="{arm}">{here}{content}</td>'


def _step(side: Side, offset: int) -> str:
    words = step_words(side.steps[offset])
    injected = " injected" if words.is_injected else ""
    return f'<div class="step{injected}"><span class="kind">{said(words.kind, 30)}</span>{said(words.rest(CELL))}</div>'


def _logs(trace: Trace | None, logs: Sequence[Excerpt]) -> Iterator[str]:
    for log in logs:
        assert trace is not None
        part = "" if log.is_whole else ", its end"
        head = f"{log.stream} of {said(log.role, 60)} of {code(trace.trial_id)} ({log.total_bytes} bytes{part})"
        yield f"<details><summary>{head}</summary>\n<pre>{lines_said(log.text)}</pre></details>\n"
