"""`model_malformed`: status 200 with a body that is broken; the upstream is not called."""

from __future__ import annotations

from arci.faults.model_action import Malform, ModelFault
from arci.faults.settings import MODEL, Kind

__all__ = ["KIND"]

KIND = Kind(
    "model_malformed",
    "upstream not called; status 200 and a body, or an event of a stream, that is no JSON",
    lambda params: ModelFault(Malform()),
    target=MODEL,
)
