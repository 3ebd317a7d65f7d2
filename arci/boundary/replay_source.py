"""A server of a recorded trial among the servers of its replay: it is there at once, and nothing runs. Sans-io.

Tool calls are answered before they come here; this answers resources, prompts and whatever else was relayed.
"""

from __future__ import annotations

from arci.boundary.about import About
from arci.boundary.asked import ANSWERED, GONE, Asked
from arci.wire.jsonrpc import Response
from arci.wire.quickjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Mapping, Optional

    from arci.boundary.asked import Done, OnProgress
    from arci.boundary.replay import Replay
    from arci.boundary.source import Source, TellStarted, TellState

__all__ = ["RecordedSource", "recorded_sources"]


def recorded_sources(replay: Replay) -> Dict[str, Source]:
    """All servers of the recorded trial by name, in their order; the last one to end tells what was left over."""
    return {server["name"]: RecordedSource(server, replay) for server in replay.servers}


class RecordedSource:
    """See `source.Source`."""

    hidden_tool: Optional[str] = None
    """What was hidden is not in the recording: there is nothing to hide."""
    hidden_uri: Optional[str] = None
    is_busy = False

    def __init__(self, server: Mapping[str, Any], replay: Replay) -> None:
        self.name: str = server["name"]
        about = server["about"]
        self.about = About(
            about["era"], about["revision"], about["capabilities"], about["info"], about.get("instructions")
        )
        self.tools: List[Dict[str, Any]] = list(server["tools"])
        self._replay = replay

    def start(self, tell: TellStarted) -> None:
        tell(None)

    def request(
        self, method: str, params: Dict[str, Any], seconds: float, done: Done, on_progress: Optional[OnProgress] = None
    ) -> Asked:
        """Answered before this returns."""
        asked = Asked(0, method, params, seconds, done, on_progress)
        payload = {key: value for key, value in params.items() if key != "_meta"}
        answer = self._replay.take("relay", f"{self.name} {method}", payload)
        if answer is None or answer.get("is_gone"):
            done(GONE, None)
        else:
            self._replay.tell(answer.get("told", ()), on_progress)
            done(ANSWERED, _response(answer))
            self._replay.tell(answer.get("told_after", ()), None)
        return asked

    def cancel(self, asked: Asked, reason: str) -> None:
        """Everything was answered."""

    def drop_unsent(self) -> None:
        """Everything was answered."""

    def give_up(self) -> None:
        """Everything was answered."""

    def snapshot(self, seconds: float, tell: TellState) -> None:
        """The host has the recorded state."""
        tell({}, None)

    def said(self, data: bytes) -> None:
        """Nothing runs that could say something."""

    def ended(self, how: str) -> None:
        """Nothing runs that could end."""

    def launch_failed(self, detail: str) -> None:
        """Nothing is launched for it."""

    def stop(self, tell: Callable[[], None]) -> None:
        if self.name == self._replay.servers[-1]["name"]:
            self._replay.tell_leftover()
        tell()


def _response(answer: Mapping[str, Any]) -> Response:
    if "error" in answer:
        return Response(0, None, answer["error"])
    response = Response(0, loads(answer["result"]), None)
    response.raw = answer["result"].encode("utf-8", "surrogatepass")
    return response
