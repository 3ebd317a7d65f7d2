"""Getting the environment ready: the trial is told to it, its tools are read once and told to the host. Sans-io."""

from __future__ import annotations

from arci.boundary.peer import ANSWERED, OVERDUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from arci.boundary.journal import Journal
    from arci.boundary.peer import Peer
    from arci.boundary.terms import Terms
    from arci.wire.jsonrpc import Response

    Tools = List[Dict[str, Any]]

__all__ = ["Setup"]


class Setup:
    """The tools of the environment, as soon as they are known."""

    def __init__(self, journal: Journal, peer: Peer, terms: Terms) -> None:
        self._journal = journal
        self._peer = peer
        self._terms = terms
        self._waiting: List[Callable[[Optional[Tools]], None]] = []
        self._is_over = False
        self.tools: Optional[Tools] = None
        """MCP tool list; None until it is known, and for ever if the environment did not start."""

    def start(self) -> None:
        params = {"task": self._terms.task, "seed": self._terms.seed}
        self._peer.ask("arci/start", params, self._terms.setup_s, self._started)

    def when_ready(self, tell: Callable[[Optional[Tools]], None]) -> None:
        """`tell(tools)` once the environment is ready, `tell(None)` once it is clear that it never will be."""
        if self._is_over:
            tell(self.tools)
        else:
            self._waiting.append(tell)

    def knows(self, tool: str) -> bool:
        """Whether the tool exists, as far as is known."""
        return self.tools is None or any(t.get("name") == tool for t in self.tools)

    def fail(self, detail: str) -> None:
        """The environment cannot be used: told to the host, once."""
        if not self._is_over:
            self._journal.trouble("environment", detail)
            self._end()

    def _started(self, how: str, frame: Optional[Response]) -> None:
        if self._succeeded(how, frame, "start"):
            self._peer.ask("tools/list", {}, self._terms.setup_s, self._listed)

    def _listed(self, how: str, frame: Optional[Response]) -> None:
        if not self._succeeded(how, frame, "list its tools") or frame is None:
            return
        tools = frame.result.get("tools") if isinstance(frame.result, dict) else None
        if not isinstance(tools, list) or not all(isinstance(t, dict) for t in tools):
            self.fail("the environment answered no list of tools")
            return
        self.tools = tools
        self._journal.phase = "trial"
        self._journal.tell("ready", tools=tools)
        self._end()

    def _succeeded(self, how: str, frame: Optional[Response], step: str) -> bool:
        """Whether the environment answered. Its death is reported by whoever saw its exit status."""
        if how == OVERDUE:
            self.fail(f"the environment did not {step} within setup_seconds ({self._terms.setup_s:g} s)")
        elif how == ANSWERED and frame is not None and frame.error is not None:
            self.fail(str(frame.error.get("message")))
        elif how != ANSWERED:
            self._end()
        return how == ANSWERED and not self._is_over

    def _end(self) -> None:
        self._is_over = True
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell(self.tools)
