"""`arci init`: the answers checked, then what they mean written, all of it or nothing. Writes files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from arci.errors import Problem, SpecError, UsageError
from arci.manifest.descriptor import Overrides, read_descriptor
from arci.scaffold.answers import Answers
from arci.scaffold.flow import flow
from arci.scaffold.gather import WHERE, plan_of
from arci.scaffold.langchain import langchain_files
from arci.scaffold.references import check_references
from arci.scaffold.render import render_plan
from arci.scaffold.starter import starter_files

__all__ = ["Made", "make_experiment"]

_REAL_N = 200
"""Trials per arm of a real design, with which nothing is said of the size."""
_REST = "toolset: a:b\noracle: a:b\nbaseline: a:b\ncandidate: a:b\n"
"""What a descriptor needs beside its id, so that the id alone can be judged by the descriptor's own rules."""


@dataclass(frozen=True, slots=True)
class Made:
    """What was written, and what a person should hear."""

    descriptor: Path
    files: tuple[Path, ...]
    warnings: tuple[str, ...]


def make_experiment(answers: Answers, out: Path | None = None, *, langchain: bool = False, force: bool = False) -> Made:
    """With a name alone: a whole experiment in the folder `out`, the name's by default; of a LangChain agent and its
    model with `langchain`. Else a descriptor, in the file `out` (`arci.yaml`). SpecError with everything that is wrong;
    UsageError where something is there already."""
    if langchain and not answers.is_name_alone:
        raise UsageError("--langchain: writes agents, tools and judge of its own; NAME and --out alone are allowed.")
    if langchain:
        return _make_whole(answers.name, langchain_files(answers.name), out, force)
    if answers.is_name_alone:
        texts = starter_files(answers.name, "docker" if answers.docker else "process")
        return _make_whole(answers.name, texts, out, force)
    return _make_descriptor(answers, out or Path("arci.yaml"), force)


def _make_whole(name: str, texts: Mapping[str, str], out: Path | None, force: bool) -> Made:
    directory = out or Path(name)
    problems = _name_problems(name)
    if problems:
        raise SpecError(problems)
    files = {directory / path: text for path, text in texts.items()}
    _refuse_existing(files, force)
    _write(files)
    return Made(directory / "arci.yaml", tuple(files), ())


def _make_descriptor(answers: Answers, path: Path, force: bool) -> Made:
    root = path.absolute().parent
    plan, problems = plan_of(answers, root)
    _refuse_existing([path], force)
    wrong, said = check_references(plan, root)
    problems = [*_name_problems(answers.name), *problems, *wrong]
    if problems:
        raise SpecError(problems)
    text = render_plan(plan)
    warnings = _load(text, path)
    _write({path: text})
    return Made(path, (path,), (*said, *warnings))


def _name_problems(name: str) -> list[Problem]:
    """What the descriptor's own rules say of an `experiment_id`."""
    try:
        _load(f"experiment_id: {flow(name)}\n{_REST}", Path("arci.yaml"))
    except SpecError as error:
        return list(error.problems)
    return []


def _load(text: str, path: Path) -> tuple[str, ...]:
    """The warnings of a descriptor that loads; SpecError in the words of its keys, since there is no such file yet."""
    try:
        # What is said of a smoke design's size stands in its comments already.
        return read_descriptor(text.encode("utf-8"), path, overrides=Overrides(n_per_arm=_REAL_N)).warnings
    except SpecError as error:
        raise SpecError([Problem(WHERE, p.path, p.message, p.hint) for p in error.problems]) from None


def _refuse_existing(files: Iterable[Path], force: bool) -> None:
    there = [str(path) for path in files if path.exists() or path.is_symlink()]
    if there and not force:
        raise UsageError(f"{', '.join(there)}: exists already; nothing was written.", hint="--force writes over it")


def _write(files: Mapping[Path, str]) -> None:
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot be written: {error.strerror}.") from None
