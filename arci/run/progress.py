"""What an observer of a run is told, and when. Pure declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Counts", "Observer", "Silent"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a run is. `errors` counts trials that we or the machine broke, not those that an agent failed."""

    planned: int
    finished: int = 0
    """Recorded, those of an earlier, interrupted part of the run included."""
    running: int = 0
    errors: int = 0
    here: int = 0
    """Of `finished`, those of this process: what the time left is reckoned from."""


class Observer(Protocol):
    """Called on the event loop; must not block and must not raise."""

    def run_started(self, counts: Counts) -> None: ...

    def trial_started(self, trial_id: str, counts: Counts) -> None: ...

    def trial_finished(self, trial_id: str, counts: Counts) -> None: ...

    def warn(self, text: str) -> None:
        """Something that a person should read and that stops nothing."""

    def tick(self) -> None:
        """About once a second, so that a line appears even while no trial ends."""

    def run_finished(self, counts: Counts, state: str) -> None:
        """`state`: `complete` or `stopped`."""


class Silent:
    """Says nothing."""

    def run_started(self, counts: Counts) -> None:
        pass

    def trial_started(self, trial_id: str, counts: Counts) -> None:
        pass

    def trial_finished(self, trial_id: str, counts: Counts) -> None:
        pass

    def warn(self, text: str) -> None:
        pass

    def tick(self) -> None:
        pass

    def run_finished(self, counts: Counts, state: str) -> None:
        pass
