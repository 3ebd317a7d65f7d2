"""`model_slow`: the first token comes `ms` milliseconds later."""

from __future__ import annotations

from arci.faults.model_action import ModelFault, Postpone
from arci.faults.settings import MODEL, Kind, milliseconds

__all__ = ["KIND"]

KIND = Kind(
    "model_slow",
    "the upstream is called params.ms later, so the first token comes that much later",
    lambda params: ModelFault(Postpone(params["ms"])),
    [milliseconds("ms", 5000)],
    target=MODEL,
)
