"""`model_empty`: a valid answer that says nothing; the upstream is not called."""

from __future__ import annotations

from arci.faults.model_action import Empty, ModelFault
from arci.faults.settings import MODEL, Kind

__all__ = ["KIND"]

KIND = Kind(
    "model_empty",
    "upstream not called; status 200 and a valid answer without text and without tool calls",
    lambda params: ModelFault(Empty()),
    target=MODEL,
)
