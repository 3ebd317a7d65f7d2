"""`decision_unavailable`: status 529 from the occurrence on; the upstream is not called."""

from __future__ import annotations

from arci.faults.decision_action import DecisionFault
from arci.faults.settings import DECISION, Kind

__all__ = ["KIND"]


class DecisionUnavailable(DecisionFault):
    __slots__ = ()

    def before(self) -> int:
        return 529


KIND = Kind(
    "decision_unavailable",
    "upstream not called; status 529, from the occurrence on",
    lambda params: DecisionUnavailable(),
    target=DECISION,
    lasts=True,
)
