"""`arci seal` and `arci schema`."""

from __future__ import annotations

from pathlib import Path

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly

__all__ = ["schema", "seal"]


@click.command()
def schema() -> None:
    """Print the JSON Schema of the descriptor, for editors and reviews."""
    from arci.manifest.descriptor import json_schema

    options.emit_json(json_schema())


@click.command()
@click.argument("descriptor", type=click.Path(path_type=Path), default="arci.yaml")
@click.option("--out", type=options.NewFile(), required=True, help="File to write.")
@options.isolation
@click.option("--n", "n_per_arm", type=click.IntRange(1, 100_000), help="Trials per arm and condition.")
@options.build_ca
@options.as_json
def seal(
    descriptor: Path,
    out: Path,
    isolation: str | None,
    n_per_arm: int | None,
    build_ca: Path | None,
    json_: bool,
) -> None:
    """Resolve DESCRIPTOR's images, write every default out, and seal it without running it."""
    from arci.api import Job, RunOptions, seal_descriptor
    from arci.manifest.cautions import arms_warnings
    from arci.model.canonical import canonical
    from arci.store.files import replace_file

    chosen = RunOptions(descriptor, isolation, n_per_arm, build_ca=build_ca)
    job = seal_descriptor(Job(chosen, notice=options.notice), run_interruptibly)
    assert job.document is not None
    replace_file(out, canonical(job.document) + b"\n")
    for warning in arms_warnings(job.manifest):
        options.notice(f"warning: {warning}")
    summary = {"manifest_sha256": job.document["record_sha256"], "file": str(out)}
    options.emit_json(summary) if json_ else click.echo(f"{summary['manifest_sha256']}  {out}")
