"""Repeated trials of one candidate counted: whether it fails often enough, and whether the failure is lost. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tally"]


@dataclass(slots=True)
class Tally:
    """At most `repeat` trials, of which `at_least` must fail."""

    repeat: int
    at_least: int
    tried: int = 0
    failed: int = 0
    broken: int = 0
    """Trials that say nothing."""

    def add(self, failed: bool | None) -> None:
        """One trial; None: it broke."""
        self.tried += 1
        self.failed += failed is True
        self.broken += failed is None

    @property
    def fails(self) -> bool:
        return self.failed >= self.at_least

    @property
    def is_settled(self) -> bool:
        """Nothing more is to be learnt. A candidate that has not failed yet is tried to the last trial: only all of
        them together are evidence that the failure is lost."""
        left = self.repeat - self.tried
        return self.fails or left == 0 or (self.failed > 0 and self.failed + left < self.at_least)

    @property
    def is_lost(self) -> bool:
        """Every trial was made, none broke, none failed."""
        return self.tried == self.repeat and self.failed == 0 and self.broken == 0
