"""All processes of the environment: started, fed, signalled, collected. As PID 1, orphans are collected on the way."""

from __future__ import annotations

import os
import select

from arci.boundary.message import LaunchFailed
from arci.boundary.peer import TOOLSET
from arci.boundary.process import ProcessPort

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

    from arci.boundary.environment import Pipes
    from arci.boundary.message import Launch, Message

__all__ = ["Processes"]

_KILL = 9
_STDERR = 2


class Processes:
    """`uid`: the first user id of servers, which have one each, going down; None: they run as the recorder does."""

    def __init__(self, uid: Optional[int]) -> None:
        self._uid = uid
        self._named: Dict[str, ProcessPort] = {}
        self._all: List[ProcessPort] = []  # those that were replaced too
        self._uids: Dict[str, int] = {}

    def adopt(self, name: str, pipes: Pipes) -> None:
        """A process that was there before; it lives under the first user id."""
        self._add(name, ProcessPort(name, pipes))
        if self._uid is not None:
            self._uids[name] = self._uid

    @property
    def pending(self) -> int:
        """Bytes that they have not taken yet."""
        return sum(port.pending for port in self._all)

    @property
    def patience_s(self) -> Optional[float]:
        """How long to wait for events before they are looked after; None once all are gone."""
        waits = [port.patience_s for port in self._all]
        return min((w for w in waits if w is not None), default=None)

    def interests(self, is_paused: bool) -> List[Tuple[int, int]]:
        """Descriptors to poll. `is_paused`: read no answers, because those before are not taken yet."""
        interests = [interest for port in self._all for interest in port.interests(is_paused)]
        if any(port.has_log for port in self._all):
            interests.append((_STDERR, select.POLLOUT))
        return interests

    def ready(self, fd: int) -> List[Message]:
        """What an event on one of these descriptors brings."""
        if fd == _STDERR:
            next(port for port in self._all if port.has_log).pass_on()
            return []
        return [message for port in self._all for message in port.ready(fd)]

    def launch(self, launch: Launch) -> List[Message]:
        """Start a process; nothing if that went well."""
        from arci.boundary.launch_server import start_process  # a toolset needs none of it

        uid = self._uid_for(launch)
        pipes = start_process(launch, uid)
        if isinstance(pipes, str):
            return [LaunchFailed(launch.process, pipes)]
        port = ProcessPort(launch.process, pipes, leads_group=True)
        self._add(launch.process, port)
        if uid is not None:
            self._uids[launch.process] = uid
        if launch.input is not None:
            port.ask(launch.input)
            port.end_input()
        return []

    def ask(self, name: str, data: bytes) -> None:
        if name in self._named:
            self._named[name].ask(data)

    def flush(self) -> None:
        for port in self._all:
            port.flush()

    def end_input(self, name: str) -> None:
        if name in self._named:
            self._named[name].end_input()

    def signal(self, name: str, number: int) -> None:
        """KILL also meets what has left the group, where the server has a user id of its own."""
        port = self._named.get(name)
        if port is not None and port.is_alive:
            port.signal(number)
            if number == _KILL:
                self._sweep(name)

    def tail(self, name: Optional[str]) -> str:
        """The last of what a process logged; of a toolset where no name is given."""
        port = self._named.get(TOOLSET if name is None else name)
        return "" if port is None else port.tail()

    def reap(self) -> List[Message]:
        """Collect ended processes; the message that one has ended comes after what it had still said."""
        messages: List[Message] = []
        for port in self._all:
            if port.is_alive and _has_ended(port.pid):
                port.signal_group(_KILL)  # nothing that it has left behind may go on
                self._sweep(port.name)
                messages += port.collected(os.waitpid(port.pid, 0)[1])
            else:
                port.look_after()
        if os.getpid() == 1:
            self._collect_orphans()
        return messages

    def end(self) -> None:
        """Kill them all, whatever they are doing, and wait until they are gone."""
        for port in self._all:
            was_alive = port.is_alive
            port.end()
            if was_alive:
                self._sweep(port.name)

    def pass_on_log(self) -> None:
        """The last of the logs, as far as whoever reads them takes them without waiting."""
        poll = select.poll()
        poll.register(_STDERR, select.POLLOUT)
        for port in self._all:
            port.tail()
            while port.has_log and poll.poll(0):
                port.pass_on()

    def _add(self, name: str, port: ProcessPort) -> None:
        self._named[name] = port
        self._all.append(port)

    def _uid_for(self, launch: Launch) -> Optional[int]:
        """A numbered server's own; else that of whoever owns the directory, but root's never."""
        if self._uid is None:
            return None
        if launch.number is not None:
            return self._uid - launch.number
        try:
            return os.stat(launch.workdir).st_uid or self._uid
        except OSError:
            return self._uid

    def _sweep(self, name: str) -> None:
        """Kill whatever still runs under the user id of that process, unless another of ours lives under it: a snapshot
        before the agent runs under its server's."""
        uid = self._uids.get(name)
        others = [port for port in self._all if port.is_alive and port.name != name]
        if uid is not None and all(self._uids.get(port.name) != uid for port in others):
            from arci.boundary.launch_server import kill_all_of

            kill_all_of(uid)

    def _collect_orphans(self) -> None:
        ours = {port.pid for port in self._all if port.is_alive}
        while True:
            try:
                found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if found is None or found.si_pid in ours:
                return  # one of ours is collected in the next round
            os.waitpid(found.si_pid, 0)


def _has_ended(pid: int) -> bool:
    """Whether it waits to be collected: so long its number, and that of its group, is no other's."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False
