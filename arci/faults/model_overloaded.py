"""`model_overloaded`: status 529, as a provider that is overloaded answers; the upstream is not called."""

from __future__ import annotations

from arci.faults.model_action import ModelFault, Refuse
from arci.faults.settings import MODEL, Kind

__all__ = ["KIND"]

KIND = Kind("model_overloaded", "upstream not called; status 529", lambda params: ModelFault(Refuse(529)), target=MODEL)
