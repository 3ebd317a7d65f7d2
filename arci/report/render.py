"""A stored run in one of the forms of `arci report`. Reads the store, writes nothing."""

from __future__ import annotations

from pathlib import Path

from arci.gate.decide import decide
from arci.report.markdown import render_markdown
from arci.report.text import render_text
from arci.store.reader import read_run

__all__ = ["render"]


def render(directory: Path, form: str) -> str:
    """The report as `text`, `md` or `html`, decided again; ended by a newline. StoreError if there is no store."""
    run = read_run(directory)
    decision = decide(run)
    if form == "html":
        from arci.diagnose.triage import triage_of
        from arci.report.html import CONTEXT_STEPS, render_html

        return render_html(triage_of(directory, run, decision, context=CONTEXT_STEPS))
    return (render_markdown if form == "md" else render_text)(decision, run)
