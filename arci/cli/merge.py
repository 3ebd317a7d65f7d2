"""`arci merge`."""

from __future__ import annotations

from pathlib import Path

import click

from arci.cli import options

__all__ = ["merge"]


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=options.NewDirectory(),
    required=True,
    help="Directory in which the merged run gets the experiment's name.",
)
@options.as_json
def merge(runs: tuple[Path, ...], out: Path, json_: bool) -> None:
    """Join all shards of one sealed manifest to the run that they are parts of, and decide it.

    Exits 0 once they are joined, whatever the verdict is; `arci gate` exits with it.
    """
    from arci.api import merge_shards
    from arci.report.shard import merged_document

    decision, stored, directory = merge_shards(runs, out)
    told = merged_document(stored)
    if json_:
        options.emit_json({**told, "verdict": decision.verdict.value, "run": str(directory)})
    else:
        click.echo(f"{len(runs)} shards, {told['records']} trials, {len(told['interrupted'])} interrupted starts")
        click.echo(f"verdict: {decision.verdict.value} (`arci gate {directory}` exits with it)\nrecords: {directory}")
