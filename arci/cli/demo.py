"""`arci demo`."""

from __future__ import annotations

from pathlib import Path

import click

from arci.cli import options
from arci.cli.signals import run_interruptibly

__all__ = ["demo"]


@click.command()
@options.isolation
@click.option("--n", type=click.IntRange(1, 100_000), help="Trials per arm of the experiment; 200 by default.")
@click.option("--out", type=options.NewDirectory(), help="A new directory; arci-demo by default.")
@options.as_json
def demo(isolation: str | None, n: int | None, out: Path | None, json_: bool) -> None:
    """Show what ARCI does, in six steps that each check themselves: a change that looks harmless, the BLOCK, where the
    failure begins, what it takes, its replay, the repair. Local processes do; no engine and no network is needed.

    Exits 0 when all six hold, 3 else. Nothing but --out (and your key for bundles) is written.
    """
    import sys

    from arci.demo.place import choose_directory, reach, write_files
    from arci.demo.scene import TRIALS, Scene, Step
    from arci.demo.story import tell
    from arci.demo.telling import render_end, render_scene, render_step, story_document
    from arci.run.observe import make_observer

    observer = make_observer(sys.stderr)
    scene = Scene(choose_directory(out), isolation or "process", TRIALS if n is None else n, observer, options.notice)
    run_interruptibly(reach, scene.backend)
    write_files(scene.directory)

    def told(number: int, step: Step) -> None:
        if not json_:
            click.echo(render_step(number, step), nl=False)

    if not json_:
        click.echo(render_scene(scene), nl=False)
    story = run_interruptibly(tell, scene, told)
    if json_:
        options.emit_json(story_document(story))
    else:
        click.echo(render_end(story), nl=False)
    raise SystemExit(story.exit_code)
