"""The command line: parse, call, render, exit. No logic lives here; commands are imported when they are called."""

from __future__ import annotations

import sys
from importlib import import_module
from keyword import iskeyword
from typing import Any, NoReturn

import click

from arci import __version__
from arci.errors import EXIT_ERROR, EXIT_USAGE, ArciError, SpecError

__all__ = ["main"]

# Usage errors end with 64, so that 2 always means INCONCLUSIVE.
click.UsageError.exit_code = EXIT_USAGE

_COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("arci.cli.demo", "Show the whole story in six steps that check themselves."),
    "init": ("arci.cli.init", "Write a descriptor for your agents, or a small experiment."),
    "tools": ("arci.cli.trying", "List the tools that the agents will see."),
    "try": ("arci.cli.trying", "Make one trial and tell it; no verdict."),
    "doctor": ("arci.cli.doctor", "Examine where trials would run, and what it enforces."),
    "preflight": ("arci.cli.preflight", "Ask the models and decisions of an experiment whether they answer."),
    "run": ("arci.cli.run", "Run an experiment, gate it, and exit with its verdict."),
    "merge": ("arci.cli.merge", "Join the shards of a sealed manifest to one run."),
    "seal": ("arci.cli.descriptor", "Resolve and seal a descriptor without running it."),
    "schema": ("arci.cli.descriptor", "Print the JSON Schema of the descriptor."),
    "gate": ("arci.cli.results", "Decide a recorded run again; exit with its verdict."),
    "report": ("arci.cli.results", "Tell a recorded run for people."),
    "sign": ("arci.cli.signing", "Sign a recorded run with an Ed25519 key."),
    "verify": ("arci.cli.signing", "Verify a signed run: signature, files, seals and decision."),
    "show": ("arci.cli.results", "Show one trial's record and trace."),
    "logs": ("arci.cli.results", "Print what a trial's guests wrote."),
    "triage": ("arci.cli.diagnose", "Group a run's failures, and show where they part."),
    "diff": ("arci.cli.diagnose", "Show where the traces of two trials part."),
    "trace-check": ("arci.cli.diagnose", "Compare the traces of two runs' trials exactly."),
    "rerun": ("arci.cli.replaying", "Make a recorded trial live again."),
    "minimize": ("arci.cli.replaying", "Find the smallest part of a failure that still fails."),
    "bundle": ("arci.cli.replaying", "Pack a recorded failure with what it ran on, or list what is packed."),
    "replay": ("arci.cli.replaying", "Make a bundled failure again, answered as recorded."),
    "images": ("arci.cli.images", "Build, list, prune, save and load images."),
    "clean": ("arci.cli.clean", "Remove what dead runs left on the engine."),
}
"""Name -> module that holds it, and the line that `arci --help` shows without importing that module."""


class _Lazy(click.Group):
    """A group that imports a command only when it is called: `arci --help` must not pay for all of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(_COMMANDS[cmd_name][0])
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(module, f"{name}_" if iskeyword(name) else name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message} Commands: {', '.join(_COMMANDS)}.", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="arci")
def arci() -> None:
    """Did this change make the agent less reliable?

    Exit codes: 0 PASS, 1 BLOCK, 2 INCONCLUSIVE, 3 ERROR, 64 usage or descriptor, 69 no engine, 130 interrupted.
    """


def main(args: list[str] | None = None) -> NoReturn:
    """Entry point: every expected error becomes its message on stderr and its exit code."""
    try:
        code: Any = arci.main(args=args, prog_name="arci", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = EXIT_USAGE if isinstance(error, click.UsageError) else error.exit_code
    except ArciError as error:
        begins_with_its_place = isinstance(error, SpecError) or "\n" in str(error)
        click.echo(str(error) if begins_with_its_place else f"arci: {error}", err=True)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nothing more to tell
        code = 141
    except Exception as error:  # a defect, or a full disk behind stdout; Python's own status for it, 1, is BLOCK
        code = _tell_unexpected(error)
    sys.exit(code if isinstance(code, int) else 0)


def _tell_unexpected(error: Exception) -> int:
    """The traceback for whoever mends it, and that it is no verdict; the exit code."""
    import traceback

    traceback.print_exception(error)
    click.echo(f"arci: stopped by {type(error).__name__}, which it should not have been: no verdict.", err=True)
    return EXIT_ERROR
