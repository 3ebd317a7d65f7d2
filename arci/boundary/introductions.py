"""What each server said of itself, as far as it is known: clients are answered at once, whatever the servers do."""

from __future__ import annotations

from arci.boundary.about import About
from arci.boundary.era import LATEST_LEGACY, LEGACY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.boundary.servers import Servers

__all__ = ["Introductions"]


class Introductions:
    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._are_known = False
        servers.when_ready(self._ready)

    def of(self, server: Optional[str]) -> About:
        """Before the servers are ready: one that has tools."""
        if server is None or not self._are_known:
            return About(LEGACY, LATEST_LEGACY, {"tools": {}}, _info({}, server), None)
        about = self._servers.about(server)
        return About(about.era, about.revision, about.capabilities, _info(about.info, server), about.instructions)

    def _ready(self, is_ready: bool) -> None:
        self._are_known = is_ready


def _info(info: Dict[str, Any], server: Optional[str]) -> Dict[str, Any]:
    """Clients refuse a server without a name and a version."""
    if isinstance(info.get("name"), str) and isinstance(info.get("version"), str):
        return info
    return {**info, "name": server or "arci", "version": "1"}
