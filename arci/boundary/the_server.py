"""Which server a client means. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from arci.boundary.servers import Servers

__all__ = ["the_server"]


def the_server(servers: Servers, named: Optional[str]) -> Optional[str]:
    """It may leave the name out where there is one. None if there is none such."""
    if named is None:
        return servers.names[0] if len(servers.names) == 1 else None
    return named if named in servers.names else None
