"""What a Python agent's worker asks besides tools: its trial, the start of the clock, its result. Sans-io."""

from __future__ import annotations

from arci.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, notification_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from arci.boundary.connections import Connection
    from arci.boundary.journal import Journal
    from arci.boundary.limits import Limits
    from arci.boundary.rpc import Handler, Listener
    from arci.boundary.servers import Servers
    from arci.boundary.session import Caller
    from arci.boundary.terms import Terms
    from arci.boundary.tools import ToolRequests
    from arci.wire.jsonrpc import Request

__all__ = ["WorkerRequests", "latched_notice"]

_LONGEST_TEXT = 10_000


def latched_notice(connections: list[Connection], detail: str) -> None:
    """Tell workers that a budget is used up, so that an agent that only notes model steps learns of it too."""
    for connection in connections:
        connection.send(notification_line("notifications/arci/latched", {"detail": detail}))


class WorkerRequests:
    """Handlers of the requests `arci/...` and of the notification of a model step."""

    def __init__(self, journal: Journal, terms: Terms, limits: Limits, servers: Servers, tools: ToolRequests) -> None:
        self._journal = journal
        self._terms = terms
        self._limits = limits
        self._servers = servers
        self._is_ready = False
        self._is_over = False
        self._requests: Dict[str, Handler] = {
            "tools/list": tools.list,
            "tools/call": tools.call,
            "arci/trial": self._trial,
            "arci/ready": self._ready,
            "arci/result": self._result,
            "arci/failure": self._failure,
        }
        self.notifications: Dict[str, Listener] = {"notifications/arci/model_step": self._model_step}

    def take(self, caller: Caller, request: Request) -> None:
        handler = self._requests.get(request.method)
        if handler is None:
            caller.refuse(METHOD_NOT_FOUND, f"method {request.method[:80]!r} is not known here")
        else:
            handler(caller, request.params)

    def _trial(self, caller: Caller, params: Dict[str, Any]) -> None:
        caller.answer({"task": self._terms.task, "rng_state": self._terms.rng_state})

    def _ready(self, caller: Caller, params: Dict[str, Any]) -> None:
        """Held until the environment is ready too: its start must not be charged to the agent."""

        def tell(is_ready: bool) -> None:
            if not is_ready:
                caller.refuse(INVALID_REQUEST, "the environment did not start")
                return
            if not self._is_ready:
                self._is_ready = True
                self._journal.tell("status", status="worker_ready")
            if not self._terms.is_rehearsal:
                caller.answer({})

        self._servers.when_ready(tell)

    def _result(self, caller: Caller, params: Dict[str, Any]) -> None:
        claim = params.get("claim")
        if not isinstance(claim, dict):
            caller.refuse_bad(INVALID_PARAMS, "arci/result: claim must be an object")
        elif self._limits.latched is not None:
            caller.refuse(INVALID_REQUEST, self._limits.latched)
        elif self._may_end(caller):
            self._journal.event("agent_result", claim=claim, failure=None)
            caller.answer({})

    def _failure(self, caller: Caller, params: Dict[str, Any]) -> None:
        kind, message = params.get("kind"), params.get("message")
        if not isinstance(kind, str) or not isinstance(message, str):
            caller.refuse_bad(INVALID_PARAMS, "arci/failure: kind and message must be strings")
        elif self._may_end(caller):
            failure = {"kind": kind[:_LONGEST_TEXT], "message": message[:_LONGEST_TEXT]}
            self._journal.event("agent_result", claim=None, failure=failure)
            caller.answer({})

    def _may_end(self, caller: Caller) -> bool:
        """An agent has one result; the first counts."""
        if self._is_over:
            caller.refuse_bad(INVALID_REQUEST, "the agent has given its result already")
            return False
        self._is_over = True
        return True

    def _model_step(self, params: Dict[str, Any]) -> None:
        summary, facts = params.get("summary"), params.get("facts", {})
        if self._limits.latched is not None:
            return  # how many more it makes is a matter of time, and must not enter the trace
        if not isinstance(summary, str) or not isinstance(facts, dict):
            self._journal.protocol("model step: summary must be a string and facts an object")
        elif self._limits.admit_step():
            self._journal.event("model_step", summary=summary, facts=facts)
