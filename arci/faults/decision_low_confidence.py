"""`decision_low_confidence`: choices are made less certain than `confidence_max`; which one is likeliest stays."""

from __future__ import annotations

from arci.faults.decision_action import DecisionFault
from arci.faults.settings import DECISION, Kind, fraction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

__all__ = ["KIND", "capped"]


def capped(answer: Dict[str, Any], cap: float) -> Optional[Dict[str, Any]]:
    """A choice whose concentration is at most `cap`, or None where it is already, or is no choice of two or more.

    With n options and m the largest probability, the concentration is c = (n*m - 1)/(n - 1); above the cap the
    probabilities are mixed toward uniform with weight 1 - cap/c, which makes it `cap`.
    """
    probabilities: Dict[str, float] = answer["probabilities"] if answer.get("type") == "choice" else {}
    n = len(probabilities)
    if n < 2:
        return None
    concentration = (n * max(probabilities.values()) - 1) / (n - 1)
    if concentration <= cap:
        return None
    kept = cap / concentration
    mixed = {name: kept * p + (1 - kept) / n for name, p in probabilities.items()}
    less: Dict[str, Any] = {**answer, "probabilities": mixed}
    if "confidence" in answer:
        less["confidence"] = min(answer["confidence"], cap)
    return less


class DecisionLowConfidence(DecisionFault):
    __slots__ = ("_cap",)

    def __init__(self, cap: float) -> None:
        self._cap = cap

    def after(self, answers: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        changed = {name: capped(answer, self._cap) for name, answer in answers.items()}
        if not any(changed.values()):
            return None  # nothing was too certain, so the call is not met
        return {name: changed[name] or answer for name, answer in answers.items()}


KIND = Kind(
    "decision_low_confidence",
    "answered; choices with a concentration above params.confidence_max are mixed toward uniform",
    lambda params: DecisionLowConfidence(params["confidence_max"]),
    [fraction("confidence_max", 0.4)],
    target=DECISION,
)
