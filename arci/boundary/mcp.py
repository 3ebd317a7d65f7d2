"""What an MCP client asks, in either era: the handshake is answered here, the rest goes to tools or relay. Sans-io."""

from __future__ import annotations

from arci.boundary.era import (
    LATEST_LEGACY,
    LEGACY,
    LEGACY_REVISIONS,
    MODERN,
    MODERN_REVISIONS,
    Refusal,
    capabilities,
    envelope_problem,
    has_envelope,
    unsupported,
)
from arci.wire.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Optional

    from arci.boundary.introductions import Introductions
    from arci.boundary.relay import Relay
    from arci.boundary.rpc import Handler
    from arci.boundary.session import Caller, Session
    from arci.boundary.tools import ToolRequests
    from arci.wire.jsonrpc import Request

__all__ = ["McpRequests"]

_NOT_IN = {
    LEGACY: ("server/discover", "subscriptions/listen"),
    MODERN: ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"),
}
"""What the era has not, or is not offered in it: never relayed to a server of the other."""


class McpRequests:
    """The requests of connections of kind `mcp` and of HTTP."""

    def __init__(self, introductions: Introductions, tools: ToolRequests, relay: Relay) -> None:
        self._introductions = introductions
        self._tools = tools
        self._relay = relay
        both: Dict[str, Handler] = {"tools/list": tools.list, "tools/call": tools.call}
        self._own: Mapping[str, Mapping[str, Handler]] = {
            LEGACY: {**both, "initialize": self._initialize, "ping": _nothing, "logging/setLevel": _nothing},
            MODERN: {**both, "server/discover": self._discover},
        }

    def take(self, caller: Caller, request: Request) -> None:
        refusal = _era_refusal(caller.session, request)
        if refusal is not None:
            caller.refuse(refusal.code, refusal.message, refusal.data)
            return
        era, method = caller.session.era or LEGACY, request.method
        handler = self._own[era].get(method)
        if handler is not None:
            handler(caller, request.params)
        elif method in _NOT_IN[era]:
            caller.refuse(METHOD_NOT_FOUND, f"method {method!r} is not known here")
        else:
            self._relay.take(caller, method, request.params)

    def _initialize(self, caller: Caller, params: Dict[str, Any]) -> None:
        """Answered at once, whatever the environment is doing: silence costs clients seconds."""
        about, asked = self._introductions.of(caller.session.server), params.get("protocolVersion")
        result: Dict[str, Any] = {
            "protocolVersion": asked if asked in LEGACY_REVISIONS else LATEST_LEGACY,
            "capabilities": capabilities(LEGACY, about),
            "serverInfo": about.info,
        }
        caller.answer(_with_instructions(result, about.instructions))

    def _discover(self, caller: Caller, params: Dict[str, Any]) -> None:
        about = self._introductions.of(caller.session.server)
        result = {"supportedVersions": list(MODERN_REVISIONS), "capabilities": capabilities(MODERN, about)}
        shown = self._tools.shown(caller, "server/discover", result)
        caller.answer(_with_instructions(shown, about.instructions))


def _era_refusal(session: Session, request: Request) -> Optional[Refusal]:
    """Decides the session's era with its first request; why a request does not fit it, or None.

    A bare `server/discover` decides nothing: whoever sent it may still fall back to `initialize`.
    """
    is_modern = request.method != "initialize" and has_envelope(request.params)
    if session.era is None and not is_modern and request.method == "server/discover":
        return envelope_problem(request.params)
    if session.era is None:
        session.era = MODERN if is_modern else LEGACY
    if session.era == MODERN:
        if request.method == "initialize":
            return unsupported(request.params.get("protocolVersion"))
        return envelope_problem(request.params)
    if is_modern:
        session.bad_frame("a request with an envelope after the session began without")
        return Refusal(INVALID_REQUEST, "this session began without envelopes; none is accepted on it")
    return None


def _with_instructions(result: Dict[str, Any], instructions: Optional[str]) -> Dict[str, Any]:
    return {**result, "instructions": instructions} if isinstance(instructions, str) else result


def _nothing(caller: Caller, params: Dict[str, Any]) -> None:
    caller.answer({})
