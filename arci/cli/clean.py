"""`arci clean`."""

from __future__ import annotations

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly

__all__ = ["clean"]


@click.command()
@options.as_json
def clean(json_: bool) -> None:
    """Remove containers and volumes of runs that are dead; what a living run uses stays, and so do images."""
    from arci.isolation.docker.engine import connect
    from arci.isolation.docker.labels import Leftovers
    from arci.isolation.docker.sweep import sweep

    async def swept() -> Leftovers:
        return await sweep(await connect())

    found = run_interruptibly(swept)
    if json_:
        options.emit_json({"runs": found.run_ids, "containers": found.containers, "volumes": found.volumes})
    else:
        what = f"{len(found.containers)} containers, {len(found.volumes)} volumes"
        click.echo(f"removed of {len(found.run_ids)} dead runs: {what}")
