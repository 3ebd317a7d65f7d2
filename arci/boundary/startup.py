"""Getting one MCP server to the point where it can be asked: the handshake, then its tool list. Sans-io."""

from __future__ import annotations

from arci.boundary.handshake import Handshake
from arci.boundary.listing import Listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from arci.boundary.about import About
    from arci.boundary.alarms import Alarms
    from arci.boundary.link import Link

    Tell = Callable[[Optional[About], List[Dict[str, Any]], str], None]

__all__ = ["Startup"]


class Startup:
    """`tell(about, tools, "")` once it is there, `tell(None, [], why)` once it never will be; not if it dies."""

    def __init__(self, link: Link, alarms: Alarms, seconds: float, tell: Tell) -> None:
        self._link = link
        self._alarms = alarms
        self._seconds = seconds
        self._tell = tell
        self._handshake: Optional[Handshake] = None
        self._about: Optional[About] = None

    @property
    def is_shaking_hands(self) -> bool:
        """It has not answered anything that could be used."""
        return self._handshake is not None

    def start(self, is_legacy: bool = False) -> None:
        """Again after a death: `is_legacy`, because it may have died of being asked `server/discover`."""
        if self._handshake is not None:
            self._handshake.abandon()
        self._handshake = Handshake(self._link, self._alarms, self._seconds, self._shaken)
        self._handshake.start(is_legacy)

    def _shaken(self, about: Optional[About], problem: str) -> None:
        self._handshake, self._about = None, about
        if about is None:
            self._tell(None, [], problem)
        else:
            Listing(self._link, self._seconds, "tools" not in about.capabilities, self._listed).start()

    def _listed(self, tools: Optional[List[Dict[str, Any]]], problem: str) -> None:
        self._tell(None if tools is None else self._about, tools or [], problem)
