"""Requests that are no calls: resources, prompts, completions, and whatever else a server may know. Sans-io."""

from __future__ import annotations

from arci.boundary.asked import ANSWERED, LATE, OVERDUE
from arci.boundary.era import MODERN, is_input_required, own_meta
from arci.boundary.outcome import kept_text
from arci.boundary.peer import TOOLSET
from arci.boundary.rpc import progress_to
from arci.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from arci.boundary.journal import Journal
    from arci.boundary.limits import Limits
    from arci.boundary.servers import Servers
    from arci.boundary.session import Caller
    from arci.boundary.tools import ToolRequests
    from arci.wire.jsonrpc import Response

__all__ = ["MOST_RELAYED", "Relay"]

MOST_RELAYED = 1000
"""Relayed requests that are recorded. Further ones are relayed all the same."""

_NOT_FOUND = -32002
"""What servers of the legacy era answer for a resource that is not there; modern ones say INVALID_PARAMS."""


class Relay:
    """Passes requests on, and the answers back in the era of whoever asked."""

    def __init__(self, journal: Journal, limits: Limits, servers: Servers, tools: ToolRequests, relay_s: float) -> None:
        """`relay_s`: seconds an answer may take."""
        self._journal = journal
        self._limits = limits
        self._servers = servers
        self._tools = tools
        self._relay_s = relay_s
        self._count = 0
        self._asked = 0

    def take(self, caller: Caller, method: str, params: Dict[str, Any]) -> None:
        server = caller.session.server
        if server is None or server == TOOLSET:
            caller.refuse(METHOD_NOT_FOUND, f"method {method[:80]!r} is not known here")
        elif self._limits.latched is not None:
            caller.refuse(INVALID_REQUEST, self._limits.latched)
        else:
            self._servers.when_ready(lambda is_ready: self._send(caller, server, method, params, is_ready))

    def _send(self, caller: Caller, server: str, method: str, params: Dict[str, Any], is_ready: bool) -> None:
        uri = params.get("uri")
        if caller.is_over:
            return
        if not is_ready:
            caller.refuse(INVALID_REQUEST, "the environment did not start")
        elif isinstance(uri, str) and self._servers.is_hidden_resource(server, uri):
            self._journal.protocol(f"{method}: {uri[:80]!r} is hidden from the agent")
            caller.refuse(INVALID_PARAMS if caller.session.era == MODERN else _NOT_FOUND, f"Resource {uri} not found")
        else:
            self._ask(caller, server, method, params)

    def _ask(self, caller: Caller, server: str, method: str, params: Dict[str, Any]) -> None:
        meta, token = own_meta(params), (params.get("_meta") or {})
        asked = {key: value for key, value in params.items() if key != "_meta"}
        tell = progress_to(caller.session, token.get("progressToken") if isinstance(token, dict) else None)
        which = {"request": self._asked, "asked_at_s": self._journal.at_s}
        self._asked += 1
        handle = self._servers.request(
            server,
            method,
            {**asked, "_meta": meta} if meta else asked,
            self._relay_s,
            lambda how, frame: self._answered(caller, server, method, {"params": asked, **which}, how, frame),
            self._journal.progress(tell, server=server, request=which["request"]),
        )
        if not caller.is_over:
            caller.on_cancel = handle.cancel

    def _answered(
        self, caller: Caller, server: str, method: str, asked: Dict[str, Any], how: str, frame: Optional[Response]
    ) -> None:
        if how == LATE:
            return
        ok = how == ANSWERED and frame is not None and frame.error is None
        self._record(server, method, ok, {**asked, **self._kept(server, method, frame)})
        if how == OVERDUE:
            caller.refuse(INTERNAL_ERROR, f"{method} was not answered in time")
        elif how != ANSWERED or frame is None:
            caller.refuse(INTERNAL_ERROR, "the environment is gone")
        elif frame.error is not None:
            _pass_error(caller, frame.error)
        else:
            self._pass_result(caller, server, method, frame)

    def _record(self, server: str, method: str, ok: bool, kept: Dict[str, Any]) -> None:
        self._count += 1
        if self._count <= MOST_RELAYED and self._limits.latched is None:
            self._journal.event("relay", server=server, method=method[:200], ok=ok, **kept)

    def _kept(self, server: str, method: str, frame: Optional[Response]) -> Dict[str, Any]:
        """The answer as the agent gets it, for a replay."""
        if frame is None or frame.error is not None:
            return {} if frame is None else {"error": frame.error}
        result = frame.result
        if method == "resources/list" and isinstance(result, dict):
            result = self._without_hidden(server, result)
        return kept_text(result, frame.raw if result is frame.result else None)

    def _pass_result(self, caller: Caller, server: str, method: str, frame: Response) -> None:
        result = frame.result
        if not isinstance(result, dict):
            caller.refuse(INTERNAL_ERROR, "the environment answered without a result")
            return
        shown = self._without_hidden(server, result) if method == "resources/list" else result
        if is_input_required(result) and caller.session.era != MODERN:
            caller.refuse(INTERNAL_ERROR, "the server asked for input that the client cannot give")
        elif self._tools.is_of_era(caller, server) and shown is result and frame.raw is not None:
            caller.pass_on(frame.raw)
        else:
            caller.answer(self._tools.shown(caller, method, shown))

    def _without_hidden(self, server: str, result: Dict[str, Any]) -> Dict[str, Any]:
        """`result` itself where it lists nothing that is hidden."""
        listed = result.get("resources")
        if not isinstance(listed, list):
            return result
        kept = [r for r in listed if not (isinstance(r, dict) and self._is_hidden(server, r.get("uri")))]
        return result if len(kept) == len(listed) else {**result, "resources": kept}

    def _is_hidden(self, server: str, uri: Any) -> bool:
        return isinstance(uri, str) and self._servers.is_hidden_resource(server, uri)


def _pass_error(caller: Caller, error: Dict[str, Any]) -> None:
    """Any code of a server is data."""
    code, message = error.get("code"), error.get("message")
    is_code = isinstance(code, int) and not isinstance(code, bool)
    caller.refuse(code if is_code else INTERNAL_ERROR, str(message), error.get("data"))  # type: ignore[arg-type]  # is_code: an int
