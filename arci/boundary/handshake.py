"""The handshake with an MCP server: modern if it answers `server/discover`, else legacy. Sans-io.

A server that has not answered within a second may be slow to start, or drop what it does not know: it gets `initialize`
too, and the first of the two answers that can be used counts.
"""

from __future__ import annotations

from arci.boundary.about import About
from arci.boundary.asked import ANSWERED, OVERDUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional

    from arci.boundary.alarms import Alarms
    from arci.boundary.link import Link
    from arci.wire.jsonrpc import Response

    Tell = Callable[[Optional[About], str], None]

__all__ = ["CLIENT", "LEGACY_REVISION", "MODERN_REVISION", "PROBE_S", "Handshake"]

MODERN_REVISION = "2026-07-28"
LEGACY_REVISION = "2025-11-25"
PROBE_S = 1.0
CLIENT = {"name": "arci", "version": "1"}
_ENVELOPE: Dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN_REVISION,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"


class Handshake:
    """One try. `tell(about, "")` once it has succeeded, `tell(None, why)` once it has failed, not if it dies."""

    def __init__(self, link: Link, alarms: Alarms, seconds: float, tell: Tell) -> None:
        self._link = link
        self._alarms = alarms
        self._seconds = seconds
        self._tell = tell
        self._awaits_discover = False
        self._has_initialized = False
        self._refusal: Optional[str] = None  # what `initialize` was answered, while `discover` may still be
        self._is_over = False

    def start(self, is_legacy: bool = False) -> None:
        """`is_legacy`: it is known not to bear `server/discover`."""
        if is_legacy:
            self._initialize()
            return
        self._awaits_discover = True
        self._link.request("server/discover", {"_meta": _ENVELOPE}, self._seconds, self._discovered)
        self._alarms.after("probe", min(PROBE_S, self._seconds), self._initialize)

    def abandon(self) -> None:
        """Its server is gone."""
        self._is_over = True

    def _discovered(self, how: str, response: Optional[Response]) -> None:
        if self._is_over:
            return
        self._awaits_discover = False
        about = _discovered(response) if how == ANSWERED and response is not None else None
        if about is not None:
            self._link.envelope = _ENVELOPE
            self._finish(about, "")
        elif self._refusal is not None:
            self._finish(None, self._refusal)
        elif how == ANSWERED:
            self._initialize()

    def _initialize(self) -> None:
        if self._is_over or self._has_initialized:
            return
        self._has_initialized = True
        params = {"protocolVersion": LEGACY_REVISION, "capabilities": {}, "clientInfo": CLIENT}
        self._link.request("initialize", params, self._seconds, self._initialized)

    def _initialized(self, how: str, response: Optional[Response]) -> None:
        if self._is_over:
            return
        about = _initialized(response) if how == ANSWERED and response is not None else None
        if about is not None:
            self._link.notify("notifications/initialized", {})
            self._finish(about, "")
        elif how == OVERDUE:
            self._finish(None, f"it did not answer `initialize` within setup_seconds ({self._seconds:g} s)")
        elif how == ANSWERED and response is not None:
            self._refusal = f"`initialize` was answered with {_in_words(response)}"
            if not self._awaits_discover:
                self._finish(None, self._refusal)

    def _finish(self, about: Optional[About], problem: str) -> None:
        self._is_over = True
        self._tell(about, problem)


def _discovered(response: Response) -> Optional[About]:
    """What a server of the modern era says of itself; None if it is none."""
    result = response.result
    if response.error is not None or not isinstance(result, dict):
        return None
    versions, capabilities = result.get("supportedVersions"), result.get("capabilities")
    if not isinstance(versions, list) or MODERN_REVISION not in versions or not isinstance(capabilities, dict):
        return None
    meta = result.get("_meta")
    info = meta.get(_SERVER_INFO) if isinstance(meta, dict) else None
    return About("modern", MODERN_REVISION, capabilities, _object(info), _text(result.get("instructions")))


def _initialized(response: Response) -> Optional[About]:
    result = response.result
    if response.error is not None or not isinstance(result, dict):
        return None
    revision, capabilities = result.get("protocolVersion"), result.get("capabilities", {})
    if not isinstance(revision, str) or not isinstance(capabilities, dict):
        return None
    return About("legacy", revision, capabilities, _object(result.get("serverInfo")), _text(result.get("instructions")))


def _object(value: Any) -> Dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> Optional[str]:
    return value if isinstance(value, str) else None


def _in_words(response: Response) -> str:
    if response.error is not None:
        return f"error {response.error.get('code')}: {str(response.error.get('message'))[:200]}"
    return "no protocolVersion"
