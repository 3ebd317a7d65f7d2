"""`arci demo` as local processes, played once per session, and the examples at full size: what the demo has made of
their very files is not made again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2e import Finished, arci, recorded

__all__ = ["Played", "full_size", "played"]

_BY_THE_DEMO = {"retry_agent/a-vs-b.yaml": "retry-a-vs-b", "retry_agent/a-vs-c.yaml": "retry-a-vs-c"}
"""Example -> the experiment's id."""
_played: list[Played] = []


@dataclass(frozen=True)
class Played:
    ended: Finished
    directory: Path
    home: Path

    def commands(self) -> Iterator[list[str]]:
        """Those that it tells, without `arci`."""
        for line in self.ended.stdout.splitlines():
            if line.startswith("     arci "):
                yield shlex.split(line)[1:]


def played(factory: pytest.TempPathFactory) -> Played:
    """The demo with all its trials. Nobody may write into the runs that `full_size` gives."""
    if not _played:
        directory, home = factory.mktemp("demo") / "new", factory.mktemp("data")
        ended = arci("demo", "--out", directory, env={"XDG_DATA_HOME": str(home)})
        _played.append(Played(ended, directory, home))
    return _played[0]


def full_size(factory: pytest.TempPathFactory, example: str) -> tuple[Finished, Path]:
    """What an example as it stands came to, by `arci run --json` or, where the demo ran it, `arci gate --json`; and its
    run directory."""
    if example not in _BY_THE_DEMO:
        return recorded(factory, example, "process")
    run = played(factory).directory / "runs" / _BY_THE_DEMO[example]
    return arci("gate", run, "--json"), run
