"""`arci doctor`."""

from __future__ import annotations

from typing import NoReturn

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly
from arci.errors import EXIT_ERROR

__all__ = ["doctor"]


@click.command()
@click.option(
    "--isolation",
    type=click.Choice(["docker", "process"]),
    default="docker",
    show_default=True,
    help="What is examined.",
)
@click.option("--conformance", is_flag=True, help="All conformance checks; a few that matter most else.")
@click.option("--containment", is_flag=True, help="Hostile agents instead, as real trials on the engine.")
@options.workers
@options.as_json
def doctor(isolation: str, conformance: bool, containment: bool, workers: int | None, json_: bool) -> None:
    """Examine where trials would run: engine, versions, limits really enforced, room, and the back end's contract.

    Exits 0 if all is well, 69 without an engine, 3 where something that is required fails.
    """
    from functools import partial

    from arci.api import default_workers
    from arci.doctor.examine import examine

    most = default_workers() if workers is None else workers
    if containment:
        _contain(isolation, conformance, most, json_)
    report = run_interruptibly(partial(examine, isolation, most, options.notice, everything=conformance))
    if json_:
        options.emit_json(report.to_document())
    else:
        from arci.doctor.text import render_report

        click.echo(render_report(report), nl=False)
    raise SystemExit(report.exit_code)


def _contain(isolation: str, conformance: bool, workers: int, json_: bool) -> NoReturn:
    """The containment suite: exits 0 if everything was contained, 3 else."""
    from functools import partial

    from arci.containment.suite import contain
    from arci.containment.table import render_rows

    if conformance:
        raise click.UsageError("--conformance and --containment: one of the two at a time.")
    if isolation != "docker":
        raise click.UsageError(f"--containment: {isolation} isolation contains nothing; docker is allowed.")
    rows = run_interruptibly(partial(contain, options.notice, workers=workers))
    if json_:
        options.emit_json([row.to_document() for row in rows])
    else:
        click.echo(render_rows(rows), nl=False)
    raise SystemExit(0 if all(row.contained for row in rows) else EXIT_ERROR)
