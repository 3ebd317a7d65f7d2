"""A run as it was read back: frozen, plain, with everything that is wrong in it as data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["StoreProblem", "StoredRun"]


@dataclass(frozen=True, slots=True)
class StoreProblem:
    """Something in a store that does not hold."""

    where: str
    """File below the store, with `:line` where there is one."""
    message: str
    trial_id: str | None = None
    """The trial that it concerns, where that is known."""
    is_torn: bool = False
    """The last line of a file was cut short by a crash: opening the store for appending mends it."""

    def __str__(self) -> str:
        trial = f" trial {self.trial_id}:" if self.trial_id else ""
        return f"{self.where}:{trial} {self.message}"


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a store holds. Nothing in it is trusted: `manifest` and `records` are JSON as read, `info` has its shape."""

    manifest: Mapping[str, Any] | None
    """The document of `manifest.json`; None if it cannot be read."""
    records: tuple[Mapping[str, Any], ...]
    """The readable lines of `trials.jsonl`, in their order."""
    info: Mapping[str, Any] | None
    """`run.json`; None if it cannot be read or does not hold."""
    problems: tuple[StoreProblem, ...] = ()
    notes: tuple[str, ...] = ()
    """Oddities that a crash explains and that change nothing."""
    in_flight: tuple[str, ...] = ()
    """Trial ids started and neither recorded nor listed as interrupted in `info`."""

    @property
    def interrupted(self) -> tuple[str, ...]:
        """One trial id per start that led to no record; an id may come twice."""
        listed = self.info["interrupted"] if self.info is not None else ()
        return (*listed, *self.in_flight)
