"""`arci init`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arci.cli import options

if TYPE_CHECKING:
    from arci.scaffold.write import Made

__all__ = ["init"]


@click.command()
@click.argument("name")
@click.option("--baseline", metavar="REF", help="Python agent before the change: module:function.")
@click.option("--candidate", metavar="REF", help="Python agent after the change.")
@click.option("--command", metavar="ARGV", help="Command of the agent, of both arms: program and arguments.")
@click.option("--baseline-command", metavar="ARGV", help="Command of the baseline alone.")
@click.option("--candidate-command", metavar="ARGV", help="Command of the candidate alone.")
@click.option("--image", metavar="IMAGE", help="Image of both agents; runs in containers.")
@click.option("--baseline-image", metavar="IMAGE", help="Image of the baseline alone.")
@click.option("--candidate-image", metavar="IMAGE", help="Image of the candidate alone.")
@click.option("--toolset", metavar="REF", help="The tools, in Python: module:function.")
@click.option("--mcp-server", metavar="ARGV", help="The tools, as an MCP server over stdio.")
@click.option("--mcp-server-image", metavar="IMAGE", help="Image of the MCP server.")
@click.option("--snapshot", metavar="HOW", help="Its state: tool:NAME, resource:URI or files:PATH[,PATH...].")
@click.option("--oracle", metavar="REF", help="Judge of the final state, in Python: module:function.")
@click.option("--grader", metavar="ARGV", help="Judge of the final state, as a command.")
@click.option("--fault", "faults", metavar="NAME:TOOL:OCC", multiple=True, help="A condition; may be repeated.")
@click.option("--task", metavar="JSON|@FILE", help="What the agent is to do: a JSON object.")
@click.option("--langchain", is_flag=True, help="A LangChain agent and a scripted model, in containers.")
@click.option("--docker", is_flag=True, help="Trials in containers; local processes else.")
@click.option("--out", type=click.Path(path_type=Path), help="File to write (arci.yaml), or folder with NAME alone.")
@click.option("--force", is_flag=True, help="Write over what is there.")
@options.as_json
def init(out: Path | None, langchain: bool, force: bool, json_: bool, **answers: Any) -> None:
    """Write an `arci.yaml` that runs: for your agents, or with NAME alone a whole small experiment in the folder NAME.

    Python references are imported first, in a process of their own; nothing is written if something is wrong.
    """
    from arci.scaffold.answers import Answers
    from arci.scaffold.write import make_experiment

    made = make_experiment(Answers(**answers), out, langchain=langchain, force=force)
    for warning in made.warnings:
        options.notice(f"warning: {warning}")
    if json_:
        files = [str(path) for path in made.files]
        options.emit_json({"descriptor": str(made.descriptor), "files": files, "warnings": list(made.warnings)})
    else:
        click.echo(_told(made))


def _told(made: Made) -> str:
    lines = [f"wrote {path}" for path in made.files]
    program = made.descriptor.with_name("run.py")
    if program in made.files:
        return "\n".join(
            [*lines, "", "Next:", f"  python {shlex.quote(str(program))}   # serves the model; the verdict"]
        )
    descriptor = shlex.quote(str(made.descriptor))
    steps = {"tools": "the tools that the agents will see", "try": "one trial, told as it goes", "run": "the verdict"}
    return "\n".join(
        [*lines, "", "Next:", *(f"  arci {name:<5} {descriptor}   # {does}" for name, does in steps.items())]
    )
