"""`tools/call` and `tools/list` as an agent asks them, on any kind of connection. Sans-io."""

from __future__ import annotations

from arci.boundary.asking import Asking
from arci.boundary.era import MODERN, is_input_required, legacy_result, modern_result, own_meta
from arci.boundary.rpc import progress_to
from arci.faults.answer import Answer
from arci.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.boundary.calls import Calls
    from arci.boundary.introductions import Introductions
    from arci.boundary.servers import Servers
    from arci.boundary.session import Caller
    from arci.wire.framing import Oversize

__all__ = ["ToolRequests"]

_CALL_KEYS = ("name", "arguments", "_meta")
_RETRY_KEYS = ("inputResponses", "requestState")
_UNKNOWN_TOOL = "(not shown)"
"""What a call is recorded under whose tool could not be read."""


class ToolRequests:
    """Handlers of the two requests."""

    def __init__(self, calls: Calls, servers: Servers, introductions: Introductions) -> None:
        self._calls = calls
        self._servers = servers
        self._introductions = introductions
        self._is_known = False  # whether the servers will ever be ready
        servers.when_ready(self._ready)

    def call(self, caller: Caller, params: Dict[str, Any]) -> None:
        """One that arrives before the servers are ready waits, unless its tool is known already."""
        problem = _call_problem(params)
        if problem is not None:
            caller.refuse_bad(INVALID_PARAMS, problem)
        elif self._is_known or self._servers.resolve(caller.session.server, params["name"]) is not None:
            self._arrive(caller, params)
        else:
            self._servers.when_ready(lambda is_ready: self._arrive(caller, params))

    def too_long(self, caller: Caller, tool: Optional[str], line: Oversize) -> None:
        """A call over the longest line, of which the head alone is known."""
        shown = {"oversize": {"sha256": line.sha256, "head": line.head.decode("utf-8", "replace")}}
        asking = self._asking(caller, tool or _UNKNOWN_TOOL, {})
        self._calls.arrive_unread(asking, shown, f"the call is over {line.limit_bytes} bytes")

    def list(self, caller: Caller, params: Dict[str, Any]) -> None:
        """All at once: no page was ever handed out."""
        if params.get("cursor") is not None:
            caller.refuse_bad(INVALID_PARAMS, "tools/list: no cursor was given")
            return

        def tell(is_ready: bool) -> None:
            if is_ready:
                result = {"tools": self._servers.tools(caller.session.server)}
                caller.answer(self.shown(caller, "tools/list", result))
            else:
                caller.refuse(INVALID_REQUEST, "the environment did not start")

        self._servers.when_ready(tell)

    def shown(self, caller: Caller, method: str, result: Dict[str, Any]) -> Dict[str, Any]:
        """A result as clients of the caller's era take it."""
        session = caller.session
        if session.era == MODERN:
            return modern_result(method, result, self._introductions.of(session.server).info)
        return legacy_result(method, result)

    def is_of_era(self, caller: Caller, server: Optional[str]) -> bool:
        """Whether what `server` answers needs no translation for this caller."""
        return (caller.session.era == MODERN) == (self._introductions.of(server).era == MODERN)

    def _ready(self, is_ready: bool) -> None:
        self._is_known = True

    def _arrive(self, caller: Caller, params: Dict[str, Any]) -> None:
        if caller.is_over:
            return  # cancelled before the servers were ready
        asking = self._asking(caller, params["name"], params.get("arguments") or {})
        meta = params.get("_meta")
        asking.on_progress = progress_to(caller.session, meta.get("progressToken")) if isinstance(meta, dict) else None
        asking.extra = {"_meta": own_meta(params)} if own_meta(params) else {}
        if asking.may_retry:
            asking.extra.update((key, params[key]) for key in _RETRY_KEYS if key in params)
            asking.is_retry = any(key in params for key in _RETRY_KEYS)
        cancel = self._calls.arrive(asking)
        if not caller.is_over:
            caller.on_cancel = cancel

    def _asking(self, caller: Caller, tool: str, arguments: Dict[str, Any]) -> Asking:
        server = caller.session.server
        asking = Asking(server, tool, arguments, lambda answer: self._deliver(caller, answer))
        asking.may_retry = caller.session.era == MODERN
        return asking

    def _deliver(self, caller: Caller, answer: Answer) -> None:
        if answer.raw is not None and caller.session.kind != "worker" and self.is_of_era(caller, caller.session.server):
            caller.pass_on(answer.raw)
        elif is_input_required(answer.result):
            caller.answer(answer.result)
        else:
            caller.answer(self.shown(caller, "tools/call", _without_mark(answer, caller.session.kind)))


def _call_problem(params: Dict[str, Any]) -> Optional[str]:
    """Why a call is not what it seems, or None: recorder, fault and tool must read the same name and arguments."""
    for key in params:
        if key not in _CALL_KEYS and key.lower() in _CALL_KEYS:
            return f"tools/call: key {key[:80]!r} beside the protocol's own"
    if not isinstance(params.get("name"), str):
        return "tools/call: name must be a string"
    if not isinstance(params.get("arguments", {}), (dict, type(None))):
        return "tools/call: arguments must be an object"
    return None


def _without_mark(answer: Answer, kind: str) -> Dict[str, Any]:
    """The result as the agent gets it: ARCI's own kind of failure is for Python workers alone."""
    if answer.ok or kind == "worker":
        return answer.result
    result = {key: value for key, value in answer.result.items() if key != "_meta"}
    meta = {key: value for key, value in answer.result.get("_meta", {}).items() if key != "arci"}
    return {**result, "_meta": meta} if meta else result
