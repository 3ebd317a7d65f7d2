"""The environment as the agent's side sees it: one or several servers, the names of their tools, requests. Sans-io."""

from __future__ import annotations

from arci.boundary.about import About
from arci.boundary.names import Names, Target, plain_uri
from arci.boundary.peer import TOOLSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence

    from arci.boundary.asked import Asked, Done, OnProgress
    from arci.boundary.connections import Connection
    from arci.boundary.journal import Journal
    from arci.boundary.replay import Replay
    from arci.boundary.setup import Setup
    from arci.boundary.source import Source

__all__ = ["About", "Handle", "Servers", "Target"]


class Handle:
    """A request under way."""

    __slots__ = ("_asked", "_source")

    def __init__(self, source: Source, asked: Asked) -> None:
        self._source = source
        self._asked = asked

    def cancel(self, reason: str) -> None:
        """Nobody waits for it any more; the server is told once. `done` is then called with LATE at most (an answer
        came after all), or with UNSENT at once where it was never sent."""
        self._source.cancel(self._asked, reason)


class Servers:
    """All servers of a trial. A toolset is one, by the name `tools`."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._sources: Dict[str, Source] = {}
        self._setup: Optional[Setup] = None
        self._names: Optional[Names] = None
        self.names: List[str] = []
        self.replay: Optional[Replay] = None
        """What answers tool calls where a recorded trial is replayed."""
        self.on_notification: Callable[[str, str, Dict[str, Any]], bool] = lambda server, method, params: False
        """(server, method, params) of a server, and whether a client heard it; the agent's side sets it. It is recorded
        here."""

    def fill(self, sources: Sequence[Source], setup: Setup) -> None:
        """Once, before anything else is asked."""
        self._sources = {source.name: source for source in sources}
        self.names = list(self._sources)
        self._setup = setup

    # What is known

    def when_ready(self, tell: Callable[[bool], None]) -> None:
        """`tell(True)` once all servers are ready, `tell(False)` once it is clear that they never will be."""
        if self._setup is not None:
            self._setup.when_ready(tell)

    def resolve(self, server: Optional[str], tool: str) -> Optional[Target]:
        """What a call of `tool` means, asked of `server` or of all; None if it is unknown or hidden.

        Before a toolset is ready, any name is taken: it will say itself what it does not know.
        """
        if self._is_ready:
            return self._known().resolve(server, tool)
        return Target(TOOLSET, tool, tool) if self.names == [TOOLSET] else None

    def tools(self, server: Optional[str]) -> List[Dict[str, Any]]:
        """The tools that the agent may see; of all servers (None), each by the name under which it is recorded."""
        if server is not None:
            return self._sources[server].tools if self._is_ready else []
        if not self._is_ready:
            return []
        keys = self._known()
        return [
            tool if keys.key(name, tool["name"]) == tool["name"] else {**tool, "name": keys.key(name, tool["name"])}
            for name, source in self._sources.items()
            for tool in source.tools
        ]

    def recorded_tools(self) -> List[Dict[str, Any]]:
        """`tools(None)` at the moment at which they are known for the first time."""
        self._names = Names({name: [t["name"] for t in s.tools] for name, s in self._sources.items()})
        return self.tools(None)

    def canonical(self, name: str) -> str:
        """The recorded name of the tool that a fault or contract calls `name`; `name` itself if there is none."""
        target = self.resolve(None, name)
        return name if target is None else target.key

    def about(self, server: str) -> About:
        return self._sources[server].about

    def is_hidden_resource(self, server: str, uri: str) -> bool:
        """Whether it is the one that the grader's state is read from, however it is spelled."""
        hidden = self._sources[server].hidden_uri
        return hidden is not None and plain_uri(hidden) == plain_uri(uri)

    def is_hidden_tool(self, server: Optional[str], tool: str) -> bool:
        """Whether it is one that the grader's state is read with, asked of one server or of all."""
        asked = [source for name, source in self._sources.items() if server in (None, name)]
        return any(s.hidden_tool is not None and tool in (s.hidden_tool, f"{s.name}.{s.hidden_tool}") for s in asked)

    @property
    def _is_ready(self) -> bool:
        return self._names is not None

    def _known(self) -> Names:
        if self._names is None:
            raise RuntimeError("the servers are not ready")
        return self._names

    # What is asked

    def request(
        self,
        server: str,
        method: str,
        params: Dict[str, Any],
        seconds: float,
        done: Done,
        on_progress: Optional[OnProgress] = None,
    ) -> Handle:
        """Ask a server. `done(how, response)` with the words of `asked`: ANSWERED, OVERDUE (perhaps LATE after it),
        GONE, UNSENT; `response` is there for ANSWERED and LATE, `response.raw` the bytes of its `result`."""
        source = self._sources[server]
        return Handle(source, source.request(method, params, seconds, done, on_progress))

    def notified(self, server: str, method: str, params: Dict[str, Any]) -> None:
        """A server's notification: handed on, and recorded."""
        heard = {} if self.on_notification(server, method, params) else {"heard": False}
        self._journal.notice("notification", params, server=server, method=method[:200], **heard)

    # Servers that connect

    def connected(self, server: str, connection: Connection) -> bool:
        """An `environment` connection, after its hello; False if it must be closed."""
        connect = getattr(self._sources.get(server), "connected", None)
        return connect is not None and bool(connect(connection))

    def said(self, server: str, data: bytes) -> None:
        """Bytes of such a connection."""
        self._sources[server].said(data)

    def closed(self, server: str) -> None:
        """Such a connection has ended."""
        self._sources[server].ended("its connection was closed")

    # The end

    @property
    def is_busy(self) -> bool:
        """A request is under way and in time."""
        return any(source.is_busy for source in self._sources.values())

    def drop_unsent(self) -> None:
        for source in self._sources.values():
            source.drop_unsent()

    def give_up(self) -> None:
        for source in self._sources.values():
            source.give_up()

    def stop(self, tell: Callable[[], None]) -> None:
        """End all of them at once; `tell()` when the last is gone."""
        left = set(self._sources)

        def stopped(name: str) -> None:
            left.discard(name)
            if not left:
                tell()

        for name, source in list(self._sources.items()):
            source.stop(lambda name=name: stopped(name))  # type: ignore[misc]  # a default binds the loop's name
