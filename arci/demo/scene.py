"""What the demo's steps hand on: where it plays, what the steps before found, and what each step shows. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arci.errors import EXIT_ERROR, UsageError
from arci.run.progress import Observer, Silent

__all__ = ["BLOCKS_FROM", "PASSES_FROM", "TRIALS", "Command", "Scene", "Step", "Story"]

Command = tuple[str, ...]
Notice = Callable[[str], None]

TRIALS = 200
"""Trials per arm of the frozen experiment: its counts are then 192 against 132."""
BLOCKS_FROM = 52
"""The seeds from 12000 on give a BLOCK for so many trials per arm and for more, but for `_ALMOST`."""
_ALMOST = 64
PASSES_FROM = 110
"""A PASS takes more trials than this BLOCK: two arms that fail in the same few worlds PASS from here on."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Where the demo plays, and what is known of it so far. Paths of `run` and others are below `directory`."""

    directory: Path
    backend: str = "process"
    n: int = TRIALS
    """Trials per arm of the frozen experiment. UsageError for one that cannot BLOCK."""
    observer: Observer = field(default_factory=Silent)
    notice: Notice = lambda text: None
    failing: Mapping[str, Any] = field(default_factory=dict)
    """The record of the failure that is looked into, once there is one."""
    reproducer: Mapping[str, Any] = field(default_factory=dict)
    """The sealed manifest that the failure was reduced to."""

    def __post_init__(self) -> None:
        if self.n < BLOCKS_FROM or self.n == _ALMOST:
            raise UsageError(
                f"--n: {self.n}; from {BLOCKS_FROM} trials per arm on, but for {_ALMOST}, the demo ends in a BLOCK."
            )

    def path(self, *parts: str) -> Path:
        return self.directory.joinpath(*parts)


@dataclass(frozen=True, slots=True)
class Step:
    """What one step came to. `commands` are typed in the scene's directory and do what the step did."""

    title: str
    holds: bool
    shows: str
    """A sentence or three."""
    commands: tuple[Command, ...]
    facts: Mapping[str, Any]
    """What it was judged by, for machines."""


@dataclass(frozen=True, slots=True)
class Story:
    """The steps that were made: all, or those up to the first that does not hold."""

    scene: Scene
    steps: tuple[Step, ...]
    planned: int

    @property
    def holds(self) -> bool:
        return len(self.steps) == self.planned and all(step.holds for step in self.steps)

    @property
    def exit_code(self) -> int:
        return 0 if self.holds else EXIT_ERROR
