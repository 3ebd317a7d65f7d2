"""What of an HTML page is about the whole run: what was asked of models, circumstances, prior runs, seals. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from arci.model.trial import ARMS
from arci.report.html_text import code, row, said, table
from arci.report.usage import use_rows
from arci.report.view import ReportView
from arci.report.words import prior_run, seconds

__all__ = ["money", "the_run", "told_list"]

_MOST_FACTS = 100
_FACT = 1000
"""Columns of one fact about the run."""


def money(view: ReportView) -> str:
    """What both arms asked of models and decisions, over all conditions; empty where nothing was asked."""
    rows = [row(label, *map(said, cells)) for label, cells in use_rows([view.use.get(arm) for arm in ARMS])]
    return table("Over all conditions; their own tables have their shares", ["", *ARMS], rows) if rows else ""


def the_run(view: ReportView) -> str:
    """Warnings, circumstances, prior runs and seals."""
    return "".join(_parts(view))


def told_list(texts: Iterable[str], most: int = _MOST_FACTS) -> str:
    """Hostile texts as a list; what is beyond `most` is counted."""
    all_of_them = list(texts)
    items = [f"<li>{said(text, _FACT)}</li>" for text in all_of_them[:most]]
    if len(all_of_them) > most:
        items.append(f"<li>and {len(all_of_them) - most} more</li>")
    return f"<ul>{''.join(items)}</ul>\n" if items else ""


def _parts(view: ReportView) -> Iterator[str]:
    decision = view.decision
    yield from (f'<p class="warning">Warning: {said(w, _FACT)}</p>\n' for w in view.warnings[:_MOST_FACTS])
    facts = [*view.circumstances, *(f"note: {note}" for note in view.notes)]
    interrupted = sum(sum(condition.interrupted.values()) for condition in decision.conditions)
    facts.append(f"interrupted starts that were, or must be, made again: {interrupted}")
    if view.phases:
        told = ", ".join(f"{name} {seconds(value)}" for name, value in view.phases.items())
        facts.append(f"median time by phase: {told}")
    yield told_list(facts)
    if decision.prior_runs:
        yield "<h3>Prior runs</h3>\n"
        yield told_list(map(prior_run, decision.prior_runs))
    yield f'<p class="quiet">Manifest {code(decision.manifest_sha256)}, records {code(decision.trials_sha256)}</p>\n'
