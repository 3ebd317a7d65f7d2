"""What a server said of itself when it was started. Plain data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

__all__ = ["About"]


class About:
    """A toolset's: legacy, `{"tools": {}}`."""

    __slots__ = ("capabilities", "era", "info", "instructions", "revision")

    def __init__(
        self, era: str, revision: str, capabilities: Dict[str, Any], info: Dict[str, Any], instructions: Optional[str]
    ) -> None:
        self.era = era  # `legacy` or `modern`
        self.revision = revision
        self.capabilities = capabilities
        self.info = info  # serverInfo
        self.instructions = instructions
