"""What the engine's parts ask of whatever serves tools: a toolset or an MCP server. Declarations alone."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Protocol

    from arci.boundary.about import About
    from arci.boundary.asked import Asked, Done, OnProgress

    TellStarted = Callable[[Optional[str]], None]
    TellState = Callable[[Optional[Dict[str, Any]], Optional[str]], None]
    """(state, None), or (None, why); (None, "") where the reason was told to the host already."""

    class Source(Protocol):
        """One server of the trial."""

        name: str
        about: About
        tools: List[Dict[str, Any]]
        """Those that the agent may see; [] until it has started."""
        hidden_tool: Optional[str]
        hidden_uri: Optional[str]

        @property
        def is_busy(self) -> bool: ...

        def start(self, tell: TellStarted) -> None:
            """`tell(None)` once it is ready, `tell(why)` if it never will be; "" where that was told to the host."""

        def request(
            self,
            method: str,
            params: Dict[str, Any],
            seconds: float,
            done: Done,
            on_progress: Optional[OnProgress] = None,
        ) -> Asked: ...

        def cancel(self, asked: Asked, reason: str) -> None: ...

        def drop_unsent(self) -> None:
            """Give up what was not sent yet."""

        def give_up(self) -> None:
            """Wait no longer for what is under way."""

        def snapshot(self, seconds: float, tell: TellState) -> None:
            """Its state, as far as it must be asked itself."""

        def said(self, data: bytes) -> None:
            """Bytes of its stdout."""

        def ended(self, how: str) -> None:
            """It is gone; `how` in words."""

        def launch_failed(self, detail: str) -> None: ...

        def stop(self, tell: Callable[[], None]) -> None:
            """End it; `tell()` once it is gone, or is waited for no longer."""


__all__ = ["Source", "TellStarted", "TellState"] if TYPE_CHECKING else []
