"""A Python toolset among the servers of a trial: told the trial, asked one thing at a time. Sans-io."""

from __future__ import annotations

from arci.boundary.about import About
from arci.boundary.message import EndInput
from arci.boundary.peer import ANSWERED, OVERDUE, TOOLSET, Peer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from arci.boundary.asked import Asked, Done, OnProgress
    from arci.boundary.journal import Journal
    from arci.boundary.source import TellStarted, TellState
    from arci.boundary.terms import Terms
    from arci.wire.jsonrpc import Response

__all__ = ["ToolsetSource"]


class ToolsetSource:
    """See `source.Source`. Its process was there before the trial."""

    hidden_tool: Optional[str] = None
    hidden_uri: Optional[str] = None

    def __init__(self, journal: Journal, peer: Peer, terms: Terms) -> None:
        self.name = TOOLSET
        self.about = About("legacy", "2025-11-25", {"tools": {}}, {"name": "arci", "version": "1"}, None)
        self.tools: List[Dict[str, Any]] = []
        self._journal = journal
        self._peer = peer
        self._terms = terms
        self._tell: TellStarted = lambda problem: None
        self._is_stopped = False

    @property
    def is_busy(self) -> bool:
        return self._peer.is_busy

    def start(self, tell: TellStarted) -> None:
        self._tell = tell
        params = {"task": self._terms.task, "seed": self._terms.seed}
        self._peer.ask("arci/start", params, self._terms.setup_s, self._started)

    def request(
        self, method: str, params: Dict[str, Any], seconds: float, done: Done, on_progress: Optional[OnProgress] = None
    ) -> Asked:
        if method == "tools/call":
            params = {"name": params["name"], "arguments": params.get("arguments") or {}}
        return self._peer.ask(method, params, seconds, done)

    def cancel(self, asked: Asked, reason: str) -> None:
        self._peer.cancel(asked)

    def drop_unsent(self) -> None:
        self._peer.drop_unsent()

    def give_up(self) -> None:
        self._peer.give_up()

    def snapshot(self, seconds: float, tell: TellState) -> None:
        def done(how: str, frame: Optional[Response]) -> None:
            state = frame.result.get("state") if frame is not None and isinstance(frame.result, dict) else None
            if how == OVERDUE:
                tell(None, f"no answer within {seconds:g} s")
            elif how != ANSWERED or frame is None:
                tell(None, "")  # its death was told when it was seen
            elif isinstance(state, dict):
                tell(state, None)
            else:
                tell(None, str((frame.error or {}).get("message", "no JSON object")))

        self._peer.ask("arci/snapshot", {}, seconds, done)

    def said(self, data: bytes) -> None:
        self._peer.said(data)

    def ended(self, how: str) -> None:
        if not self._peer.is_gone and not self._is_stopped:
            self._journal.trouble("environment", f"the environment ended by itself: {how}")
        self._peer.gone()

    def launch_failed(self, detail: str) -> None:
        """Nothing is launched for it."""

    def stop(self, tell: Callable[[], None]) -> None:
        self._is_stopped = True
        self._journal.do(EndInput(TOOLSET))
        tell()

    def _started(self, how: str, frame: Optional[Response]) -> None:
        if self._succeeded(how, frame, "start"):
            self._peer.ask("tools/list", {}, self._terms.setup_s, self._listed)

    def _listed(self, how: str, frame: Optional[Response]) -> None:
        if not self._succeeded(how, frame, "list its tools") or frame is None:
            return
        tools = frame.result.get("tools") if isinstance(frame.result, dict) else None
        if not isinstance(tools, list) or not all(isinstance(t, dict) for t in tools):
            self._tell("the environment answered no list of tools")
            return
        self.tools = tools
        self._tell(None)

    def _succeeded(self, how: str, frame: Optional[Response], step: str) -> bool:
        """Whether it answered."""
        if how == ANSWERED and frame is not None and frame.error is None:
            return True
        if how == OVERDUE:
            self._tell(f"the environment did not {step} within setup_seconds ({self._terms.setup_s:g} s)")
        else:
            self._tell(str(frame.error.get("message")) if frame is not None and frame.error is not None else "")
        return False
