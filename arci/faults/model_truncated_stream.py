"""`model_truncated_stream`: the real answer up to some place, then the connection ends without its end."""

from __future__ import annotations

from arci.faults.model_action import ModelFault, Truncate
from arci.faults.settings import MODEL, Kind, count

__all__ = ["KIND"]

KIND = Kind(
    "model_truncated_stream",
    "the real answer, cut: of a stream params.keep_chunks events arrive (none: half), of any other answer half",
    lambda params: ModelFault(Truncate(params["keep_chunks"])),
    [count("keep_chunks", None)],
    target=MODEL,
)
