"""A run as one self-contained HTML page: it asks for nothing, and is read without its script. Pure but for its assets.

The same input gives the same bytes. Whatever the size of the run, the page is bounded: what is left out is counted.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from arci.diagnose.groups import deciding_conditions
from arci.diagnose.triage import Triage
from arci.gate.decision import Decision
from arci.report.html_plot import difference_figure
from arci.report.html_tables import condition_section
from arci.report.html_text import code, said
from arci.report.html_traces import failures_section
from arci.report.view import ReportView, build_view
from arci.report.words import headline, prior_run, rule, seconds

__all__ = ["CONTEXT_STEPS", "MOST_CONDITIONS", "render_html"]

CONTEXT_STEPS = 30
"""Steps before and after a divergence that the page shows; what `triage_of` is asked for."""
MOST_CONDITIONS = 50
_MOST_REASONS, _MOST_DRAWN, _MOST_FACTS = 50, 3, 100
_FACT = 1000
"""Columns of one fact about the run."""


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
    yield from _verdict(decision, name)
    yield from _conditions(view)
    yield failures_section(triage)
    yield from _circumstances(view)
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def _verdict(decision: Decision, name: str) -> Iterator[str]:
    verdict = decision.verdict.value
    yield f'<header>\n<h1><span class="verdict {verdict}">{verdict}</span> {name}</h1>\n'
    yield f"<p><strong>{said(headline(decision))}</strong></p>\n"
    deciding = deciding_conditions(decision)[:_MOST_DRAWN]
    if deciding:
        caption = (
            "Candidate minus baseline. PASS: all of the bar lies right of the dashed line at minus delta; BLOCK: all "
            "of it lies left, in the shaded part. The dot is the difference of the rates."
        )
        yield difference_figure(decision, deciding, caption)
    yield f"<p>Exit code {decision.verdict.exit_code}. Rule: {said(rule(decision))}.</p>\n"
    yield _list(decision.reasons, _MOST_REASONS)
    yield "</header>\n"


def _conditions(view: ReportView) -> Iterator[str]:
    told, decision = view.conditions[:MOST_CONDITIONS], view.decision
    yield '<section id="conditions">\n<h2>Conditions</h2>\n'
    if not told:
        yield "<p>None can be read from this run.</p>\n"
    if len(view.conditions) > 1:
        drawn = tuple(condition.decision for condition in told)
        yield difference_figure(decision, drawn, "Every condition; a broken bar does not gate.")
    if len(view.conditions) > len(told):
        yield f'<p class="quiet">The first {len(told)} of {len(view.conditions)} conditions.</p>\n'
    yield from (condition_section(condition, decision) for condition in told)
    yield "</section>\n"


def _circumstances(view: ReportView) -> Iterator[str]:
    decision = view.decision
    yield '<section id="run">\n<h2>The run</h2>\n'
    yield from (f'<p class="warning">Warning: {said(w, _FACT)}</p>\n' for w in view.warnings[:_MOST_FACTS])
    facts = [*view.circumstances, *(f"note: {note}" for note in view.notes)]
    interrupted = sum(sum(condition.interrupted.values()) for condition in decision.conditions)
    facts.append(f"interrupted starts that were, or must be, made again: {interrupted}")
    if view.phases:
        told = ", ".join(f"{name} {seconds(value)}" for name, value in view.phases.items())
        facts.append(f"median time by phase: {told}")
    yield _list(facts, _MOST_FACTS)
    yield "<h3>Prior runs</h3>\n"
    if decision.prior_runs:
        yield _list(map(prior_run, decision.prior_runs), _MOST_FACTS)
    else:
        yield "<p>None was declared or found.</p>\n"
    yield f'<p class="quiet">Manifest {code(decision.manifest_sha256)}, records {code(decision.trials_sha256)}</p>\n'
    yield "</section>\n"


def _list(texts: Iterable[str], most: int) -> str:
    """Hostile texts as a list; what is beyond `most` is counted."""
    all_of_them = list(texts)
    items = [f"<li>{said(text, _FACT)}</li>" for text in all_of_them[:most]]
    if len(all_of_them) > most:
        items.append(f"<li>and {len(all_of_them) - most} more</li>")
    return f"<ul>{''.join(items)}</ul>\n" if items else ""


@cache
def _asset(name: str) -> str:
    return (Path(__file__).parent / "assets" / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """What a Content-Security-Policy names an inline style or script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode('utf-8')).digest()).decode('ascii')}"
