"""`model_timeout`: the upstream is not called and no answer comes, so that the agent's own time limit shows."""

from __future__ import annotations

from arci.faults.model_action import ModelFault, Stall
from arci.faults.settings import MODEL, Kind, milliseconds

__all__ = ["KIND"]

KIND = Kind(
    "model_timeout",
    "upstream not called; no answer, until the connection ends after params.after_ms or with the trial",
    lambda params: ModelFault(Stall(params["after_ms"])),
    [milliseconds("after_ms", 600_000)],
    target=MODEL,
)
