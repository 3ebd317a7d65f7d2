"""`model_rate_limited`: status 429 with `retry-after`; the upstream is not called."""

from __future__ import annotations

from arci.faults.model_action import ModelFault, Refuse
from arci.faults.settings import MODEL, Kind, seconds

__all__ = ["KIND"]

KIND = Kind(
    "model_rate_limited",
    "upstream not called; status 429 with `retry-after` of params.retry_after_s",
    lambda params: ModelFault(Refuse(429, params["retry_after_s"])),
    [seconds("retry_after_s", 1)],
    target=MODEL,
)
