"""What there still is of a run in the place where it ran: an extra question that a back end answers. Pure declarations.

Asked by the conformance checks and by clean-up commands; the trial runner never needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arci.isolation.base import Isolation

__all__ = ["Observable", "Remains"]


@dataclass(frozen=True, slots=True)
class Remains:
    """Things of one run, each a line for people."""

    running: tuple[str, ...] = ()
    """Processes or containers that still run."""
    resting: tuple[str, ...] = ()
    """What takes room but runs nothing: directories, stopped containers, volumes."""

    @property
    def everything(self) -> tuple[str, ...]:
        return self.running + self.resting


class Observable(Isolation, Protocol):
    """A back end that tells what is left of a run."""

    async def remains(self, run_id: str) -> Remains:
        """What there still is of the run `run_id`, whoever started it. EngineError if the place does not answer."""
