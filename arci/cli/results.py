"""`arci gate`, `arci report`, `arci show` and `arci logs`: what a recorded run says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from arci.cli import options
from arci.cli.terminal import width_of

__all__ = ["gate", "logs", "report", "show"]


@click.command()
@options.run_directory
@click.option("--markdown", type=options.NewFile(), help="Write a Markdown report as well.")
@options.allow_inconclusive
@options.as_json
def gate(run: Path, markdown: Path | None, allow_inconclusive: bool, json_: bool) -> None:
    """Decide the recorded RUN again (it gives `decision.json` byte for byte) and exit with its verdict."""
    from arci.api import gate_run
    from arci.report.markdown import render_markdown
    from arci.report.text import render_text
    from arci.store.files import naming, replace_file

    decision, stored = gate_run(run)
    if markdown is not None:
        replace_file(markdown, render_markdown(decision, stored).encode("utf-8"))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with naming(Path(summary)), Path(summary).open("a", encoding="utf-8") as file:
            file.write(render_markdown(decision, stored))
    if json_:
        options.emit_json(decision.to_document())
    else:
        click.echo(render_text(decision, stored), nl=False)
    options.exit_with(decision, allow_inconclusive=allow_inconclusive)


@click.command()
@options.run_directory
@click.option("--format", "format_", type=click.Choice(["text", "md", "html"]), default="text", show_default=True)
@click.option("--out", type=options.NewFile(), help="Write it to a file instead of stdout.")
@options.as_json
def report(run: Path, format_: str, out: Path | None, json_: bool) -> None:
    """Tell the recorded RUN for people; `html` is one page that needs no network, with the traces of failures side by
    side. Exits 0 whatever the verdict is; `arci gate` exits with it.
    """
    from arci.gate.decide import decide
    from arci.report.render import render
    from arci.store.files import replace_file
    from arci.store.reader import read_run

    if json_:
        if out is not None:
            raise click.UsageError("--out is for --format; --json goes to stdout.")
        options.emit_json(decide(read_run(run)).to_document())
        return
    rendered = render(run, format_).encode("utf-8")
    if out is None:
        click.echo(rendered, nl=False)
    else:
        replace_file(out, rendered)


@click.command()
@options.run_directory
@click.argument("trial")
@options.as_json
def show(run: Path, trial: str, json_: bool) -> None:
    """Show the record and the trace of one TRIAL, such as clean:00012:candidate."""
    from arci.report.trial import render_trial
    from arci.store.reader import read_events, read_record

    record, events = read_record(run, trial), read_events(run, trial)
    if json_:
        options.emit_json({"record": record, "events": events})
    else:
        click.echo(render_trial(record, events, width=width_of(sys.stdout)), nl=False)


def _role(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value in ("agent", "boundary", "grader") or value.startswith("environment:"):
        return value
    raise click.BadParameter(f"{value!r}; agent, boundary, grader or environment:SERVER is allowed.")


@click.command()
@options.run_directory
@click.argument("trial")
@click.option(
    "--role",
    metavar="ROLE",
    callback=_role,
    default="agent",
    show_default=True,
    help="agent, boundary, grader, or environment:SERVER of a server in a container of its own.",
)
@click.option("--stream", type=click.Choice(["stdout", "stderr"]), help="One stream alone; both by default.")
def logs(run: Path, trial: str, role: str, stream: str | None) -> None:
    """Print what a guest of one TRIAL wrote: its stdout on stdout, its stderr on stderr."""
    from arci.report.trial import render_log
    from arci.store.reader import read_log

    for name in (stream,) if stream else ("stdout", "stderr"):
        text = render_log(read_log(run, trial, role, name))
        print(text, end="", file=sys.stderr if name == "stderr" else sys.stdout)
