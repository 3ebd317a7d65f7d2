"""`arci preflight`."""

from __future__ import annotations

from pathlib import Path

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly

__all__ = ["preflight"]


@click.command()
@click.argument("descriptor", type=click.Path(path_type=Path), default="arci.yaml")
@click.option("--allow-unlisted-model", is_flag=True, help="A pinned model may be missing in the endpoint's list.")
@options.as_json
def preflight(descriptor: Path, allow_unlisted_model: bool, json_: bool) -> None:
    """Ask each upstream of DESCRIPTOR whether it answers: key, allowed host, endpoint, pinned model, one smoke call.

    Makes a few real, small calls. Exits 0 if all is well, 4 where a pinned model is not listed, 3 for anything else.
    """
    from arci.api import Job, RunOptions, check_upstreams
    from arci.report.endpoints import render_endpoints

    job = Job(RunOptions(descriptor), notice=options.notice)
    found = check_upstreams(job, allow_unlisted=allow_unlisted_model, loop=run_interruptibly)
    options.emit_json(found.to_document()) if json_ else click.echo(render_endpoints(found), nl=False)
    raise SystemExit(found.exit_code)
