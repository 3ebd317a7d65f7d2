"""`arci triage`, `arci diff` and `arci trace-check`: why trials failed, and where traces part."""

from __future__ import annotations

from pathlib import Path

import click

from arci.cli import options

__all__ = ["diff", "trace_check", "triage"]


@click.command()
@options.run_directory
@click.option("--groups", type=click.IntRange(1), default=10, show_default=True, help="Groups to tell in full.")
@options.as_json
def triage(run: Path, groups: int, json_: bool) -> None:
    """Group the failures of both arms of RUN; of each group, show one that tells most beside the trial of the other arm
    with the same seed, where they part, and the commands that come next. Exits with the verdict, as `arci gate` does.
    """
    from arci.diagnose.triage import triage_document, triage_run
    from arci.report.triage import render_triage

    found = triage_run(run, most_groups=groups)
    if json_:
        options.emit_json(triage_document(found))
    else:
        click.echo(render_triage(found), nl=False)
    options.exit_with(found.decision)


@click.command()
@options.run_directory
@click.argument("a")
@click.argument("b")
@click.option("--all-steps", is_flag=True, help="Every step, not only those around where they part.")
@options.as_json
def diff(run: Path, a: str, b: str, all_steps: bool, json_: bool) -> None:
    """Show where the traces of the trials A and B of RUN part, and the last injection before that.

    Exits as diff does: 0 the same, 1 they differ, 3 one is not there or does not hold.
    """
    from arci.diagnose.check import compare_trials
    from arci.diagnose.diff import CONTEXT_STEPS, divergence_document
    from arci.report.diff import render_diff

    found = compare_trials(run, a, run, b, context=None if all_steps else CONTEXT_STEPS)
    if json_:
        options.emit_json(divergence_document(found.divergence))
    else:
        click.echo(render_diff(found.divergence, found.a.record, found.b.record), nl=False)
    raise SystemExit(0 if found.divergence.is_same else 1)


@click.command()
@options.run_directory
@click.argument("a")
@click.argument("run2", type=click.Path(path_type=Path))
@click.argument("b")
@options.as_json
def trace_check(run: Path, a: str, run2: Path, b: str, json_: bool) -> None:
    """Compare the trace of trial A of RUN with that of trial B of RUN2: by comparable steps, without times.

    Exits 0 MATCH, 1 DRIFT (it says where), 3 INVALID (one is not there or does not hold).
    """
    from arci.diagnose.check import check_traces, checked_document
    from arci.report.diff import render_check

    agreement, compared, error = check_traces(run, a, run2, b)
    if json_:
        options.emit_json(checked_document(agreement, compared, error))
    else:
        click.echo(render_check(agreement, compared, error), nl=False)
    raise SystemExit(agreement.exit_code)
