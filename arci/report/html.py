"""A run as one self-contained HTML page: it asks for nothing, and is read without its script. Pure but for its assets.

The same input gives the same bytes. Whatever the size of the run, the page is bounded: what is left out is counted.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from arci.diagnose.groups import deciding_conditions
from arci.diagnose.triage import Triage
from arci.gate.decision import Decision
from arci.model.trial import Verdict
from arci.report.html_plot import difference_figure
from arci.report.html_run import money, the_run, told_list
from arci.report.html_tables import condition_section
from arci.report.html_text import said
from arci.report.html_traces import failures_section
from arci.report.view import ReportView, build_view
from arci.report.words import headline, rule

__all__ = ["CONTEXT_STEPS", "MOST_CONDITIONS", "render_html"]

CONTEXT_STEPS = 30
"""Steps before and after a divergence that the page shows; what `triage_of` is asked for."""
MOST_CONDITIONS = 50
_MOST_REASONS, _MOST_DRAWN = 50, 3


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page that the navigation leads to. `content` is HTML already."""

    id: str
    title: str
    content: str


def render_html(triage: Triage) -> str:
    """The page, as text to be encoded as UTF-8."""
    return "".join(_page(build_view(triage.decision, triage.run), triage))


def _page(view: ReportView, triage: Triage) -> Iterator[str]:
    decision = view.decision
    style, script = _asset("report.css"), _asset("report.js")
    name = said(decision.experiment_id) or "a run without a name"
    # Nothing but this very style and script may act; nothing may be loaded, sent or embedded.
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:"
    yield "<!DOCTYPE html>\n"
    yield '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f"<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}; base-uri 'none'; form-action 'none'\">\n"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
    yield f"<title>{decision.verdict}: {name}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    anchors = {c.decision.condition_id: f"condition-{n}" for n, c in enumerate(view.conditions[:MOST_CONDITIONS], 1)}
    yield from _verdict(decision, name, anchors)
    yield from _parts(_sections(view, triage, anchors))
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def _verdict(decision: Decision, name: str, anchors: Mapping[str, str]) -> Iterator[str]:
    verdict = decision.verdict.value
    yield f'<header>\n<h1><span class="verdict {verdict}">{verdict}</span> {name}</h1>\n'
    yield f"<p><strong>{said(headline(decision))}</strong></p>\n"
    deciding = deciding_conditions(decision)[:_MOST_DRAWN]
    if deciding:
        caption = (
            "Candidate minus baseline. PASS: all of the bar lies right of the dashed line at minus delta; BLOCK: all "
            "of it lies left, in the shaded part. The dot is the difference of the rates."
        )
        yield difference_figure(decision, deciding, caption, anchors)
    yield f"<p>Exit code {decision.verdict.exit_code}. Rule: {said(rule(decision))}.</p>\n"
    yield told_list(decision.reasons, _MOST_REASONS)
    yield "</header>\n"


def _sections(view: ReportView, triage: Triage, anchors: Mapping[str, str]) -> Iterator[Section]:
    """In the order of the page: what a person who has to act on the verdict needs first."""
    failures = Section("failures", "Failures", failures_section(triage))
    several = len(view.conditions) > 1
    if several:
        yield Section("conditions", "Conditions", _overview(view, anchors))
    place = ("each", "Each condition") if several else ("conditions", "Conditions")
    conditions = Section(*place, _conditions(view, anchors))
    yield from (failures, conditions) if view.decision.verdict is Verdict.BLOCK else (conditions, failures)
    told = money(view)
    if told:
        yield Section("usage", "Calls and money", told)
    yield Section("run", "The run", the_run(view))


def _parts(sections: Iterable[Section]) -> Iterator[str]:
    told = tuple(sections)
    links = "".join(f'<li><a href="#{section.id}">{section.title}</a></li>' for section in told)
    yield f'<nav aria-label="On this page"><ul>{links}</ul></nav>\n'
    for section in told:
        yield f'<section id="{section.id}">\n<h2>{section.title}</h2>\n{section.content}</section>\n'


def _overview(view: ReportView, anchors: Mapping[str, str]) -> str:
    drawn = tuple(condition.decision for condition in view.conditions[:MOST_CONDITIONS])
    caption = "Every condition; a broken bar does not gate. A name leads to its condition."
    return difference_figure(view.decision, drawn, caption, anchors)


def _conditions(view: ReportView, anchors: Mapping[str, str]) -> str:
    """Of several, those that passed or do not gate are folded."""
    told = view.conditions[:MOST_CONDITIONS]
    if not told:
        return "<p>None can be read from this run.</p>\n"
    left_out = f'<p class="quiet">The first {len(told)} of {len(view.conditions)} conditions.</p>\n'
    sections = "".join(
        condition_section(
            condition,
            view.decision,
            anchors[condition.decision.condition_id],
            is_folded=len(told) > 1 and condition.decision.verdict in (None, Verdict.PASS),
        )
        for condition in told
    )
    return left_out * (len(view.conditions) > len(told)) + sections


@cache
def _asset(name: str) -> str:
    return (Path(__file__).parent / "assets" / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """What a Content-Security-Policy names an inline style or script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode('utf-8')).digest()).decode('ascii')}"
