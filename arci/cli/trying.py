"""`arci try` and `arci tools`: an experiment looked at before it is run."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly
from arci.cli.terminal import width_of
from arci.errors import EXIT_ERROR

__all__ = ["tools", "try_"]

_descriptor = click.argument("descriptor", type=click.Path(path_type=Path), default="arci.yaml")


@click.command("try")
@_descriptor
@click.option("--arm", type=click.Choice(["baseline", "candidate"]), default="candidate", show_default=True)
@click.option("--condition", metavar="ID", help="The first one by default.")
@click.option("--index", type=click.IntRange(0), default=0, show_default=True, help="Which trial: it decides the seed.")
@click.option("--n", type=click.IntRange(1, 100_000), help="Trials per arm and condition, as of the run.")
@options.isolation
@options.build_ca
@options.as_json
def try_(
    descriptor: Path,
    arm: str,
    condition: str | None,
    index: int,
    n: int | None,
    isolation: str | None,
    build_ca: Path | None,
    json_: bool,
) -> None:
    """Make one trial of DESCRIPTOR and tell it: what its guests print and its trace on stderr as they come, then its
    record. Nothing is kept, and nothing is decided: it exits 0 for PASS and FAIL alike, 3 for ERROR.
    """
    from functools import partial

    from arci.api import Job, RunOptions, try_trial
    from arci.live import Teller

    teller = Teller(partial(click.echo, err=True), width_of(sys.stderr))
    job = Job(RunOptions(descriptor, isolation, n, build_ca=build_ca), notice=options.notice)
    result = try_trial(job, arm=arm, condition=condition, index=index, witness=teller, loop=run_interruptibly)
    teller.close()
    if json_:
        options.emit_json({"record": result.record, "events": result.events})
    else:
        from arci.report.trial import render_trial

        click.echo(render_trial(result.record, result.events, width=width_of(sys.stdout)), nl=False)
    raise SystemExit(EXIT_ERROR if result.record["outcome"] == "ERROR" else 0)


@click.command()
@_descriptor
@options.isolation
@options.build_ca
@options.as_json
def tools(descriptor: Path, isolation: str | None, build_ca: Path | None, json_: bool) -> None:
    """List the tools that the agents of DESCRIPTOR will see, and what of the servers is hidden from them."""
    from arci.api import Job, RunOptions, list_tools
    from arci.report.tools import render_tools

    job = Job(RunOptions(descriptor, isolation, build_ca=build_ca), notice=options.notice)
    found = list_tools(job, run_interruptibly)
    if json_:
        options.emit_json({"tools": list(found.tools), "servers": list(found.servers), "hidden": list(found.hidden)})
    else:
        click.echo(render_tools(found.tools, found.servers, found.hidden), nl=False)
