"""The states of all servers, before the agent and after it, put together for the host. Sans-io."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence

    from arci.boundary.alarms import Alarms
    from arci.boundary.journal import Journal
    from arci.boundary.python_snapshot import Argv, PythonSnapshot
    from arci.boundary.source import Source, TellState
    from arci.boundary.terms import ServerTerms, Terms

    States = Optional[Dict[str, Any]]

__all__ = ["Snapshots"]


class Snapshots:
    """`argv`: what starts the guest that calls a snapshot function, of its reference and a directory."""

    def __init__(self, journal: Journal, alarms: Alarms, terms: Terms, sources: Sequence[Source], argv: Argv) -> None:
        self._journal = journal
        self._alarms = alarms
        self._trial = terms
        self._sources = sources
        self._argv = argv
        self.running: Dict[str, PythonSnapshot] = {}
        """By the name of their process."""

    def take(self, seconds: float, tell: Callable[[States], None]) -> None:
        """What the servers must be asked for: name -> state, or None if that failed, which the host is told."""
        gathering = _Gathering([s.name for s in self._sources], tell)
        for source in self._sources:
            source.snapshot(seconds, self._taken(source.name, gathering))

    def take_first(self, seconds: float, tell: Callable[[States], None]) -> None:
        """The same before the agent. A toolset need not have a state before it was used: it is None then."""
        if self._trial.servers:
            self.take(seconds, tell)
            return
        (source,) = self._sources

        def taken(state: Optional[Dict[str, Any]], problem: Optional[str]) -> None:
            tell({source.name: state} if state is not None or problem else None)

        source.snapshot(seconds, taken)

    def take_by_function(self, seconds: float, tell: Callable[[States], None]) -> None:
        """The states that a function reads from a server's directory."""
        servers = [s for s in self._trial.servers if _kind(s) == "python"]
        gathering = _Gathering([s.name for s in servers], tell)
        for server in servers:
            self._run(server, seconds, self._taken(server.name, gathering))

    def state(self, states: Dict[str, Any]) -> Any:
        """The whole: a toolset's own, or name -> state, where None is the host's to read from files."""
        if not self._trial.servers:
            return states[self._sources[0].name]
        return {**states, **{s.name: None for s in self._trial.servers if _kind(s) == "files"}}

    def _run(self, server: ServerTerms, seconds: float, tell: TellState) -> None:
        from arci.boundary.python_snapshot import PythonSnapshot  # hardly any trial needs it

        process = f"{server.name}/snapshot"
        numbers = [s.name for s in self._trial.servers if s.argv is not None]
        number = numbers.index(server.name) if server.name in numbers else None
        argv = self._argv((server.snapshot or {})["ref"], server.workdir)
        run = self.running[process] = PythonSnapshot(self._journal, self._alarms, process, tell)
        run.start(argv, self._trial.task, server.workdir, number, seconds)

    def _taken(self, name: str, gathering: _Gathering) -> TellState:
        def taken(state: Optional[Dict[str, Any]], problem: Optional[str]) -> None:
            if problem:
                is_server = bool(self._trial.servers)
                about: Dict[str, Any] = {"server": name, "during_call": False} if is_server else {}
                where = f"server {name!r}: snapshot" if is_server else "snapshot"
                self._journal.trouble("environment", f"{where}: {problem}", **about)
            gathering.add(name, state if problem is None else None)

        return taken


class _Gathering:
    """Waits for one state of each name; tells None if one of them could not be had."""

    def __init__(self, names: List[str], tell: Callable[[States], None]) -> None:
        self._missing = set(names)
        self._states: Dict[str, Any] = {}
        self._has_failed = False
        self._tell = tell
        if not names:
            tell({})

    def add(self, name: str, state: Optional[Dict[str, Any]]) -> None:
        self._missing.remove(name)
        if state is None:
            self._has_failed = True
        else:
            self._states[name] = state
        if not self._missing:
            self._tell(None if self._has_failed else self._states)


def _kind(server: ServerTerms) -> Optional[str]:
    return None if server.snapshot is None else server.snapshot["kind"]
