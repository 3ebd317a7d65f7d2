"""`model_error`: status 500; the upstream is not called."""

from __future__ import annotations

from arci.faults.model_action import ModelFault, Refuse
from arci.faults.settings import MODEL, Kind

__all__ = ["KIND"]

KIND = Kind("model_error", "upstream not called; status 500", lambda params: ModelFault(Refuse(500)), target=MODEL)
