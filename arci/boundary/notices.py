"""What servers tell on their own, passed on to the clients that have come to hear it. Sans-io."""

from __future__ import annotations

from arci.boundary.era import LEGACY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from arci.boundary.session import Session

__all__ = ["Notices"]


class Notices:
    """In the modern era a server tells only what a request of the client asked for; so only legacy clients listen."""

    def __init__(self) -> None:
        self._listeners: Dict[int, Session] = {}

    def listens(self, connection: int, session: Session) -> None:
        self._listeners[connection] = session

    def left(self, connection: int) -> None:
        self._listeners.pop(connection, None)

    def told(self, server: str, method: str, params: Dict[str, Any]) -> None:
        """`server` has told something that is no progress of a request."""
        for session in self._listeners.values():
            if session.server == server and session.era == LEGACY and session.is_initialised:
                session.notify(method, params)
