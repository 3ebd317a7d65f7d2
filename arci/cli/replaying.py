"""`arci rerun`, `arci minimize`, `arci bundle` and `arci replay`: one recorded failure, again, smaller, elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly

__all__ = ["bundle", "minimize", "replay", "rerun"]

_out = click.option("--out", type=options.NewFile(), help="The file to write.")


@click.command()
@options.run_directory
@click.argument("trial")
@options.as_json
def rerun(run: Path, trial: str, json_: bool) -> None:
    """Make the recorded TRIAL of RUN live again: the same seed, arm, condition and task, on what was sealed.

    Exits 0 for the same outcome, 1 for another, 3 for ERROR. Nothing is recorded.
    """
    from arci.diagnose.rerun import rerun_document
    from arci.failures import rerun_trial
    from arci.report.replaying import render_rerun

    found = run_interruptibly(rerun_trial, run, trial)
    if json_:
        options.emit_json(rerun_document(found))
    else:
        click.echo(render_rerun(found), nl=False)
    raise SystemExit(found.exit_code)


@click.command()
@options.run_directory
@click.argument("trial")
@_out
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Trials of each candidate.")
@click.option("--at-least", type=click.IntRange(1), help="How many of them must fail; more than half by default.")
@click.option("--max-trials", type=click.IntRange(1), default=500, show_default=True, help="Trials in all.")
@click.option("--fields", is_flag=True, help="Leave out fields of the task and parameters of faults, too.")
@options.as_json
def minimize(
    run: Path,
    trial: str,
    out: Path | None,
    repeat: int,
    at_least: int | None,
    max_trials: int,
    fields: bool,
    json_: bool,
) -> None:
    """Find the smallest part of the failed TRIAL of RUN that still fails in the same way: each candidate is a fresh
    trial with the same seed. The result is called 1-minimal only if every single removal was tried and lost the
    failure. `--out` takes a sealed manifest that `arci run` and `arci bundle` take.
    """
    from arci.diagnose.minimise import Rules, minimised_document
    from arci.failures import minimise_trial
    from arci.report.replaying import render_minimised

    if out is None:
        raise click.UsageError("--out: is missing; the file to write is required.")
    least = repeat // 2 + 1 if at_least is None else at_least
    rules = Rules(repeat, least, max_trials, with_fields=fields)
    found = run_interruptibly(minimise_trial, run, trial, out, rules, options.notice)
    if json_:
        options.emit_json({**minimised_document(found), "out": str(out)})
    else:
        click.echo(render_minimised(found, out), nl=False)


@click.command()
@click.argument("run", type=click.Path(path_type=Path), required=False)
@click.argument("trial", required=False)
@_out
@click.option(
    "--images",
    type=click.Choice(["embed", "reference"]),
    default="embed",
    show_default=True,
    help="The images themselves, or the digests that a registry has them under.",
)
@click.option("--list", "listed", type=click.Path(path_type=Path), help="Show what is in a bundle; nothing of it runs.")
@options.as_json
def bundle(
    run: Path | None, trial: str | None, out: Path | None, images: str, listed: Path | None, json_: bool
) -> None:
    """Pack the recorded TRIAL of RUN, with the images or sources that it ran on, into one file that `arci replay` runs
    elsewhere; or RUN is what `arci minimize` wrote: its trial is then made first.
    """
    from arci.report.replaying import render_bundled, render_contents

    if listed is not None:
        from arci.bundle.contents import contents

        inside = contents(listed)
        if json_:
            options.emit_json(inside)
        else:
            click.echo(render_contents(inside), nl=False)
        return
    from arci.failures import BundleOrder, bundle_trial

    if run is None:
        raise click.UsageError("RUN: is missing; a run's directory, or a file that arci minimize wrote, is required.")
    if out is None:
        raise click.UsageError("--out: is missing; the file to write is required.")
    order = BundleOrder(run, trial, out, embed=images == "embed")
    document = run_interruptibly(bundle_trial, order, options.notice)
    if json_:
        told = {"out": str(out), "bytes": out.stat().st_size, "trial_id": document.trial_id}
        options.emit_json({**told, "record_sha256": document.record_sha256, "isolation": document.isolation})
    else:
        click.echo(render_bundled(document, out), nl=False)


@click.command()
@click.argument("bundle", metavar="F", type=click.Path(path_type=Path))
@options.isolation
@click.option("--trust", is_flag=True, help="Run what is inside, although you did not make it on this machine.")
@options.as_json
def replay(bundle: Path, isolation: str | None, trust: bool, json_: bool) -> None:
    """Make the failure in the bundle F again: its agent and grader run, everything else is answered as recorded.

    Exits 0 REPRODUCED (same outcome and fingerprint), 1 NOT_REPRODUCED, 3 INVALID (the agent asked for something that
    was not recorded, or nothing could be started).
    """
    from functools import partial

    from arci.diagnose.bundled import replay_bundle
    from arci.diagnose.replaying import reproduction_document
    from arci.report.replaying import render_reproduction

    task = partial(replay_bundle, bundle, backend=isolation, is_trusted=trust, notice=options.notice)
    found = run_interruptibly(task)
    if json_:
        options.emit_json(reproduction_document(found))
    else:
        click.echo(render_reproduction(found), nl=False)
    raise SystemExit(found.verdict.exit_code)
