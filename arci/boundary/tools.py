"""`tools/call` and `tools/list` as an agent asks them, on any kind of connection. Sans-io."""

from __future__ import annotations

from arci.faults.answer import Answer
from arci.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from arci.boundary.calls import Calls
    from arci.boundary.rpc import Caller
    from arci.boundary.setup import Setup

__all__ = ["ToolRequests"]

_CALL_KEYS = ("name", "arguments", "_meta")


class ToolRequests:
    """Handlers of the two requests."""

    def __init__(self, calls: Calls, setup: Setup) -> None:
        self._calls = calls
        self._setup = setup

    def call(self, caller: Caller, params: Dict[str, Any]) -> None:
        problem = _call_problem(params)
        if problem is not None:
            caller.refuse_bad(INVALID_PARAMS, problem)
            return
        tells_kind = caller.connection.kind == "worker"
        arguments = params.get("arguments") or {}
        self._calls.arrive(params["name"], arguments, lambda answer: caller.answer(_shown(answer, tells_kind)))

    def list(self, caller: Caller, params: Dict[str, Any]) -> None:
        def tell(tools: Optional[List[Dict[str, Any]]]) -> None:
            if tools is None:
                caller.refuse(INVALID_REQUEST, "the environment did not start")
            else:
                caller.answer({"tools": tools})

        self._setup.when_ready(tell)


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


def _shown(answer: Answer, tells_kind: bool) -> Dict[str, Any]:
    """The result as the agent gets it: ARCI's own kind of failure is for Python workers alone."""
    if answer.ok or tells_kind:
        return answer.result
    result = {key: value for key, value in answer.result.items() if key != "_meta"}
    meta = {key: value for key, value in answer.result.get("_meta", {}).items() if key != "arci"}
    return {**result, "_meta": meta} if meta else result
