"""`arci run`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly

__all__ = ["run"]


@click.command()
@click.argument("descriptor", type=click.Path(path_type=Path), default="arci.yaml")
@options.isolation
@click.option("--n", "n_per_arm", type=click.IntRange(1, 100_000), help="Trials per arm and condition.")
@options.workers
@click.option("--out", type=options.NewDirectory(), default="runs", show_default=True)
@click.option("--shard", metavar="I/K", help="Part I of K of a sealed manifest; no verdict: `arci merge` joins them.")
@click.option("--resume", is_flag=True, help="Make the trials that a stopped run of the same manifest misses.")
@click.option("--force", is_flag=True, help="Keep an old run of the same id as <id>.1 and start anew.")
@options.allow_inconclusive
@options.build_ca
@options.as_json
def run(
    descriptor: Path,
    isolation: str | None,
    n_per_arm: int | None,
    workers: int | None,
    out: Path,
    shard: str | None,
    resume: bool,
    force: bool,
    allow_inconclusive: bool,
    build_ca: Path | None,
    json_: bool,
) -> None:
    """Run the experiment that DESCRIPTOR (or a sealed manifest) declares, gate it, and exit with its verdict."""
    from arci.api import Job, RunOptions, default_workers, run_experiment
    from arci.run.observe import make_observer
    from arci.store.shards import parse_shard

    chosen = RunOptions(
        descriptor,
        backend=isolation,
        n_per_arm=n_per_arm,
        out=out,
        workers=default_workers() if workers is None else workers,
        force=force,
        resume=resume,
        build_ca=build_ca,
        shard=None if shard is None else parse_shard(shard),
    )
    job = run_experiment(Job(chosen, observer=make_observer(sys.stderr), notice=options.notice), run_interruptibly)
    assert job.directory is not None
    if chosen.shard is not None:
        _tell_shard(job.directory, json_)
        return
    assert job.decision is not None
    assert job.stored is not None
    if json_:
        options.emit_json({**job.decision.to_document(), "run": str(job.directory)})
    else:
        from arci.report.text import render_text

        click.echo(render_text(job.decision, job.stored), nl=False)
        click.echo(f"\nrecords: {job.directory}")
    options.exit_with(job.decision, allow_inconclusive=allow_inconclusive)


def _tell_shard(directory: Path, json_: bool) -> None:
    """A part has no verdict: what was recorded, and where."""
    from arci.report.shard import shard_document, shard_text
    from arci.store.reader import read_run

    stored = read_run(directory)
    if json_:
        options.emit_json({**shard_document(stored), "run": str(directory)})
    else:
        click.echo(f"{shard_text(stored)}\nrecords: {directory}")
