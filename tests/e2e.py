"""The program as a user runs it: `arci` in a process of its own, small projects for it, and what it recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

__all__ = ["EXAMPLES", "Finished", "arci", "descriptor", "project", "recorded", "records", "start_arci"]

EXAMPLES = Path(__file__).parent.parent / "examples"
_HANGS_S = 900.0
_recorded: dict[tuple[str, str, int | None], tuple[Finished, Path]] = {}


@dataclass(frozen=True)
class Finished:
    """How a call of `arci` ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Its stdout, which is one JSON document and nothing else."""
        return json.loads(self.stdout)

    @property
    def run(self) -> Path:
        """The run directory that a result with `--json` names."""
        return Path(self.json["run"])


def start_arci(*args: object, env: Mapping[str, str | None] | None = None) -> subprocess.Popen[str]:
    """`arci ARGS` at work, in a process group of its own. `env` adds to the environment; None takes a variable away."""
    wanted: dict[str, str | None] = {**os.environ, "GITHUB_STEP_SUMMARY": None, **(env or {})}
    return subprocess.Popen(
        [sys.executable, "-m", "arci", *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in wanted.items() if value is not None},
        start_new_session=True,
    )


def arci(*args: object, env: Mapping[str, str | None] | None = None) -> Finished:
    """`arci ARGS`, run to its end."""
    with start_arci(*args, env=env) as process:
        try:
            stdout, stderr = process.communicate(timeout=_HANGS_S)
        except BaseException:
            process.kill()
            raise
    return Finished(process.returncode, stdout, stderr)


def recorded(
    factory: pytest.TempPathFactory, example: str, isolation: str, n: int | None = None
) -> tuple[Finished, Path]:
    """The run of an example, made once per session: how `arci run --json` ended, and its run directory.

    Nobody may write into that directory: tests of other modules read it too.
    """
    key = (example, isolation, n)
    if key not in _recorded:
        trials = () if n is None else ("--n", n)
        out = factory.mktemp("recorded")
        ended = arci("run", EXAMPLES / example, "--isolation", isolation, *trials, "--out", out, "--json")
        assert ended.stdout, ended.stderr
        _recorded[key] = ended, ended.run
    return _recorded[key]


def project(directory: Path, files: Mapping[str, str]) -> Path:
    """`directory` with `files` (relative path -> text, dedented) in it."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return directory


def descriptor(directory: Path, document: Mapping[str, Any], name: str = "arci.yaml") -> Path:
    """`document` as a descriptor in `directory`. JSON is YAML."""
    path = directory / name
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def records(run: Path) -> dict[str, dict[str, Any]]:
    """The records of a run, by trial."""
    lines = (run / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["trial_id"]: record for record in map(json.loads, lines)}
