"""The hooks of a fault of the decision endpoint, both doing nothing. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

__all__ = ["DecisionFault"]


class DecisionFault:
    __slots__ = ()

    def before(self) -> Optional[int]:
        """The HTTP status that is answered in place of asking the upstream, or None."""
        return None

    def after(self, answers: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Other answers (question -> answer) in place of valid ones, or None for these."""
        return None
