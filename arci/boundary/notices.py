"""What servers tell on their own, passed on to the clients that have come to hear it. Sans-io."""

from __future__ import annotations

from arci.boundary.era import LEGACY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from arci.boundary.session import Session

__all__ = ["Notices"]


class Notices:
    """In the modern era a server tells only what a request of the client asked for; so only legacy clients listen."""

    def __init__(self) -> None:
        self._listeners: Dict[int, Session] = {}
        self.on_arrival: Callable[[str], None] = lambda server: None
        """Called with the server whenever a client of it has come to hear."""

    def listens(self, connection: int, session: Session) -> None:
        self._listeners[connection] = session
        session.on_initialised = self._arrived

    def left(self, connection: int) -> None:
        self._listeners.pop(connection, None)

    def told(self, server: str, method: str, params: Dict[str, Any]) -> bool:
        """`server` has told something that is no progress of a request; whether anyone heard it."""
        hearing = [s for s in self._listeners.values() if s.server == server and _hears(s)]
        for session in hearing:
            session.notify(method, params)
        return bool(hearing)

    def _arrived(self, session: Session) -> None:
        if session.server is not None and _hears(session):
            self.on_arrival(session.server)


def _hears(session: Session) -> bool:
    return session.era == LEGACY and session.is_initialised
