"""Options and small actions that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from arci.gate.decision import Decision

__all__ = ["as_json", "emit_json", "exit_with", "isolation", "notice", "run_directory", "workers"]

F = TypeVar("F", bound=Callable[..., Any])

as_json = click.option("--json", "json_", is_flag=True, help="Machine-readable output on stdout.")
isolation = click.option(
    "--isolation", type=click.Choice(["process", "docker"]), help="Where trials run; the descriptor's choice else."
)
workers = click.option("--workers", type=click.IntRange(1), help="Trials at once; processors + 1 by default.")


def _only_run(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """The one run in a directory of runs, as `--out` of `arci run` and `arci merge` names it; else as it was given."""
    if (path / "manifest.json").exists() or (path / "run.json").exists() or not path.is_dir():
        return path
    runs = [found.parent for found in path.glob("*/run.json")]
    return runs[0] if len(runs) == 1 else path


run_directory = click.argument("run", type=click.Path(path_type=Path), callback=_only_run)
allow_inconclusive = click.option("--allow-inconclusive", is_flag=True, help="Exit 0 for INCONCLUSIVE.")
build_ca = click.option(
    "--build-ca",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="ARCI_BUILD_CA_BUNDLE",
    help="CA bundle that image builds may trust (behind an inspecting proxy).",
)


def emit_json(value: Mapping[str, Any] | list[Any]) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False))


def notice(text: str) -> None:
    """What is going on, for people: stderr."""
    click.echo(f"arci: {text}", err=True)


def exit_with(decision: Decision, *, allow_inconclusive: bool = False) -> None:
    """End with the verdict's code."""
    code = decision.verdict.exit_code
    raise SystemExit(0 if allow_inconclusive and code == 2 else code)
