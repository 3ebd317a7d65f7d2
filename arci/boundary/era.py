"""The two eras of MCP: which one a request is of, and results of one as clients of the other take them. Pure.

Legacy: the revisions with `initialize`. Modern: those in which each request carries an envelope in `_meta`.
"""

from __future__ import annotations

from arci.wire.jsonrpc import INVALID_PARAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.boundary.about import About

__all__ = [
    "HEADER_MISMATCH",
    "LATEST_LEGACY",
    "LEGACY",
    "LEGACY_REVISIONS",
    "MODERN",
    "MODERN_REVISIONS",
    "UNSUPPORTED_REVISION",
    "Refusal",
    "capabilities",
    "envelope_problem",
    "has_envelope",
    "is_input_required",
    "legacy_result",
    "modern_result",
    "own_meta",
    "unsupported",
]

LEGACY = "legacy"
MODERN = "modern"
LEGACY_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LATEST_LEGACY = LEGACY_REVISIONS[-1]
MODERN_REVISIONS = ("2026-07-28",)

HEADER_MISMATCH = -32020
UNSUPPORTED_REVISION = -32022

_ENVELOPE = "io.modelcontextprotocol/"
_REVISION_KEY = _ENVELOPE + "protocolVersion"
_CAPABILITIES_KEY = _ENVELOPE + "clientCapabilities"
_SERVER_INFO_KEY = _ENVELOPE + "serverInfo"
_CACHEABLE = {
    *("server/discover", "tools/list", "prompts/list"),
    *("resources/list", "resources/templates/list", "resources/read"),
}
_PASSED_ON = ("tools", "resources", "prompts", "completions", "logging")
"""Capabilities whose requests are answered here or relayed. Tasks and extensions are neither."""


class Refusal:
    """A request that the protocol itself has refused."""

    __slots__ = ("code", "data", "message")

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.code = code
        self.message = message
        self.data = data


def has_envelope(params: Dict[str, Any]) -> bool:
    """Whether a request is of the modern era: the key of the revision alone says so, its prefix is reserved."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and _REVISION_KEY in meta


def revision_of(params: Dict[str, Any]) -> Any:
    """The revision in the envelope; None where there is none."""
    meta = params.get("_meta")
    return meta.get(_REVISION_KEY) if isinstance(meta, dict) else None


def envelope_problem(params: Dict[str, Any]) -> Optional[Refusal]:
    """Why a request of the modern era is refused, or None: the envelope's keys are there and its revision is known."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        return Refusal(INVALID_PARAMS, f"params._meta must have {_REVISION_KEY!r} and {_CAPABILITIES_KEY!r}")
    missing = [key for key in (_REVISION_KEY, _CAPABILITIES_KEY) if key not in meta]
    if missing:
        return Refusal(INVALID_PARAMS, f"params._meta lacks {', '.join(missing)}")
    if not isinstance(meta[_REVISION_KEY], str):
        return Refusal(INVALID_PARAMS, f"{_REVISION_KEY} must be a string")
    return None if meta[_REVISION_KEY] in MODERN_REVISIONS else unsupported(meta[_REVISION_KEY])


def unsupported(revision: Any) -> Refusal:
    """The refusal that names the revisions which are known."""
    data: Dict[str, Any] = {"supported": list(MODERN_REVISIONS)}
    if isinstance(revision, str):
        data["requested"] = revision
    return Refusal(UNSUPPORTED_REVISION, "unsupported protocol version", data)


def own_meta(params: Dict[str, Any]) -> Dict[str, Any]:
    """The `_meta` of a request that the server may see: neither envelope nor progress token, which are per hop."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        return {}
    return {key: value for key, value in meta.items() if key != "progressToken" and not key.startswith(_ENVELOPE)}


def is_input_required(result: Dict[str, Any]) -> bool:
    return result.get("resultType") == "input_required"


def modern_result(method: str, result: Dict[str, Any], info: Dict[str, Any]) -> Dict[str, Any]:
    """`result` with what modern clients require; what is there already is kept. `info`: the server's."""
    shown = {**result, "resultType": result.get("resultType") or "complete"}
    if method in _CACHEABLE and not is_input_required(result):
        shown = {"ttlMs": 0, "cacheScope": "private", **shown}
    meta = result.get("_meta") or {}
    if isinstance(meta, dict) and meta.get(_SERVER_INFO_KEY) is None:
        shown["_meta"] = {**meta, _SERVER_INFO_KEY: info}
    return shown


def legacy_result(method: str, result: Dict[str, Any]) -> Dict[str, Any]:
    """`result` without what only modern clients know."""
    dropped = ("resultType", "ttlMs", "cacheScope", "_meta") if method in _CACHEABLE else ("resultType", "_meta")
    shown = {key: value for key, value in result.items() if key not in dropped}
    meta = result.get("_meta")
    if isinstance(meta, dict):
        kept = {key: value for key, value in meta.items() if key != _SERVER_INFO_KEY}
        return {**shown, "_meta": kept} if kept else shown
    return shown if meta is None else {**shown, "_meta": meta}


def capabilities(era: str, about: About) -> Dict[str, Any]:
    """What a client of `era` may be told that it can ask the server.

    Changes and subscriptions go from legacy servers to legacy clients alone: in the modern era they are a stream that
    is not served here.
    """
    own = {key: about.capabilities[key] for key in _PASSED_ON if isinstance(about.capabilities.get(key), dict)}
    if era == LEGACY and about.era == LEGACY:
        return own
    if era == MODERN:
        own.pop("logging", None)
    not_served = ("listChanged", "subscribe")
    return {key: {k: v for k, v in value.items() if k not in not_served} for key, value in own.items()}
