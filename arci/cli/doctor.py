"""`arci doctor`."""

from __future__ import annotations

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly

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
@options.workers
@options.as_json
def doctor(isolation: str, conformance: bool, workers: int | None, json_: bool) -> None:
    """Examine where trials would run: engine, versions, limits really enforced, room, and the back end's contract.

    Exits 0 if all is well, 69 without an engine, 3 where something that is required fails.
    """
    from functools import partial

    from arci.api import default_workers
    from arci.doctor.examine import examine

    most = default_workers() if workers is None else workers
    report = run_interruptibly(partial(examine, isolation, most, options.notice, everything=conformance))
    if json_:
        options.emit_json(report.to_document())
    else:
        from arci.doctor.text import render_report

        click.echo(render_report(report), nl=False)
    raise SystemExit(report.exit_code)
