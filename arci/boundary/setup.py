"""Getting the environment ready: all servers started, their tools and their first state told to the host. Sans-io."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence

    from arci.boundary.journal import Journal
    from arci.boundary.snapshots import Snapshots, States
    from arci.boundary.source import Source
    from arci.boundary.terms import Terms

__all__ = ["Setup"]


class Setup:
    """Tells the host `ready` and `initial_state`, or one `trouble`. `tools`: the whole list as the agent sees it."""

    def __init__(
        self,
        journal: Journal,
        terms: Terms,
        sources: Sequence[Source],
        snapshots: Snapshots,
        tools: Callable[[], List[Dict[str, Any]]],
    ) -> None:
        self._journal = journal
        self._terms = terms
        self._sources = sources
        self._snapshots = snapshots
        self._tools = tools
        self._listening: Optional[List[str]] = None
        self._starting = {source.name for source in sources}
        self._states: States = None
        self._waiting: List[Callable[[bool], None]] = []
        self._is_over = False
        self.is_ready = False

    def start(self) -> None:
        for source in self._sources:
            source.start(self._when_started(source))

    def when_ready(self, tell: Callable[[bool], None]) -> None:
        """`tell(True)` once the environment is ready, `tell(False)` once it is clear that it never will be."""
        if self._is_over:
            tell(self.is_ready)
        else:
            self._waiting.append(tell)

    def listening(self, addresses: List[str]) -> None:
        self._listening = addresses
        self._tell_ready()

    def fail(self, detail: str, **fields: Any) -> None:
        """The environment cannot be used: told to the host, once."""
        if not self._is_over:
            if detail:
                self._journal.trouble("environment", detail, **fields)
            self._end()

    def _when_started(self, source: Source) -> Callable[[Optional[str]], None]:
        def started(problem: Optional[str]) -> None:
            if problem is None:
                self._starting.remove(source.name)
                if not self._starting and not self._is_over:
                    self._snapshots.take_first(self._terms.setup_s, self._taken)
            elif self._terms.servers and problem:
                self.fail(f"server {source.name!r}: {problem}", server=source.name, during_call=False)
            else:
                self.fail(problem)

        return started

    def _taken(self, states: States) -> None:
        def taken(more: States) -> None:
            if more is None or states is None:
                self.fail("")
                return
            self._states = {**states, **more}
            self._tell_ready()

        if states is None:
            self.fail("")
        else:
            self._snapshots.take_by_function(self._terms.setup_s, taken)

    def _tell_ready(self) -> None:
        if self._states is None or self._listening is None or self._is_over:
            return
        self.is_ready = True
        self._journal.phase = "trial"
        servers = [_facts(source) for source in self._sources]
        self._journal.tell("ready", tools=self._tools(), servers=servers, listening=self._listening)
        state = self._snapshots.state(self._states)
        if state is not None:
            self._journal.tell("initial_state", state=state)
        self._states = None
        self._end()

    def _end(self) -> None:
        self._is_over = True
        waiting, self._waiting = self._waiting, []
        for tell in waiting:
            tell(self.is_ready)


def _facts(source: Source) -> Dict[str, Any]:
    about = source.about
    return {
        "name": source.name,
        "era": about.era,
        "revision": about.revision,
        "info": about.info,
        "capabilities": about.capabilities,
        "instructions": about.instructions,
        "tools": [tool["name"] for tool in source.tools],
    }
