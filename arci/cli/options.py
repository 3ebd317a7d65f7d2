"""Options and small actions that several commands share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from arci.gate.decision import Decision

__all__ = [
    "NewDirectory",
    "NewFile",
    "as_json",
    "emit_json",
    "exit_with",
    "isolation",
    "notice",
    "run_directory",
    "workers",
]

F = TypeVar("F", bound=Callable[..., Any])

as_json = click.option("--json", "json_", is_flag=True, help="Machine-readable output on stdout.")
isolation = click.option(
    "--isolation", type=click.Choice(["process", "docker"]), help="Where trials run; the descriptor's choice else."
)
workers = click.option("--workers", type=click.IntRange(1), help="Trials at once; processors + 1 by default.")


class NewFile(click.Path):
    """A file that will be written: refused before any work where it cannot be. A device or a pipe is refused too, since
    what is put in place of a file whole would take the place of `/dev/null` as well."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.exists() and not path.is_file():
            self.fail(f"{str(path)!r} is no regular file; a file's path is allowed.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{str(path.parent)!r} is not a directory; one that is there is required.", param, ctx)
        return path


class NewDirectory(click.Path):
    """A directory that files will be written to: refused before any work where that cannot be."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        place = next(place for place in (path, *path.absolute().parents) if os.path.lexists(place))
        if not place.is_dir():
            self.fail(f"{str(place)!r} is not a directory; one that is there, or none yet, is required.", param, ctx)
        if not os.access(place, os.W_OK | os.X_OK):
            self.fail(f"{str(place)!r} cannot be written to; a directory that can is required.", param, ctx)
        return path


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
