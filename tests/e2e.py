"""The program as a user runs it: `arci` in a process of its own, small projects for it, and what it recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from arci.cli import main

__all__ = [
    "EXAMPLES",
    "Finished",
    "arci",
    "call",
    "descriptor",
    "info",
    "project",
    "recorded",
    "records",
    "start_arci",
    "started",
    "until",
]

T = TypeVar("T")

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
        assert self.stdout, f"exit {self.exit_code}: {self.stderr}"
        return json.loads(self.stdout)

    @property
    def run(self) -> Path:
        """The run directory that a result with `--json` names."""
        return Path(self.json["run"])


_CLEAN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from arci.cli import main
main()
"""
"""Whoever runs the tests in the background may have SIGINT ignored; these programs must heed it."""


def start_arci(*args: object, env: Mapping[str, str | None] | None = None) -> subprocess.Popen[str]:
    """`arci ARGS` at work, in a process group of its own. `env` adds to the environment; None takes a variable away."""
    wanted: dict[str, str | None] = {**os.environ, "GITHUB_STEP_SUMMARY": None, **(env or {})}
    return subprocess.Popen(
        [sys.executable, "-c", _CLEAN, *map(str, args)],
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


def until(condition: Callable[[], T], limit_s: float = 60.0) -> T:
    """What `condition()` gives once it is true. Fails after `limit_s` seconds: a guard, no measurement."""
    deadline = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"it did not come to that within {limit_s:g} s"
        time.sleep(0.02)
    return value


def call(capsys: pytest.CaptureFixture[str], *args: object) -> Finished:
    """`arci ARGS` within this process: the same, without the time that an interpreter takes to start."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(arg) for arg in args])
    out, err = capsys.readouterr()
    assert isinstance(ended.value.code, int)
    return Finished(ended.value.code, out, err)


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
    return {record["trial_id"]: record for record in _lines(run / "trials.jsonl")}


def info(run: Path) -> dict[str, Any]:
    """`run.json` of a run."""
    value: dict[str, Any] = json.loads((run / "run.json").read_bytes())
    return value


def started(run: Path) -> set[str]:
    """Trials of a run whose agents were started, as its events tell it; none while there is no run yet."""
    path = run / "events.jsonl"
    return {event["trial_id"] for event in _lines(path) if event["kind"] == "started"} if path.exists() else set()


def _lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a `.jsonl` file. Its last line may be under way."""
    return [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
