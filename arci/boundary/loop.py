"""The recorder's loop: polls its ports, hands what happened to the engine, does what the engine says. One thread."""

from __future__ import annotations

import heapq
import select
import time

from arci.boundary.message import (
    Ask,
    Close,
    Due,
    EndInput,
    EndOutput,
    Exit,
    Launch,
    Listen,
    Listening,
    Send,
    Signal,
    StopListening,
    Tell,
    Wake,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from arci.boundary.engine import Engine
    from arci.boundary.host import HostPort
    from arci.boundary.message import Key, Message
    from arci.boundary.processes import Processes
    from arci.boundary.sockets import SocketPort

__all__ = ["Loop"]

BACKLOG_BYTES = 32 * 1024 * 1024
"""While host or environment leave so much unread, nothing is read from the agent; while host or agent do, nothing from
the environment."""


class Loop:
    """Runs one engine until it exits or the host is gone."""

    def __init__(self, engine: Engine, host: HostPort, sockets: SocketPort, processes: Processes) -> None:
        self._engine = engine
        self._host = host
        self._sockets = sockets
        self._processes = processes
        self._timers: List[Tuple[float, int, Key]] = []
        self._timer_count = 0
        self._exit: Optional[int] = None
        self._deeds: Dict[type, Callable[[Any], Optional[List[Message]]]] = {
            Tell: self._tell,
            Send: lambda a: self._sockets.send(a.connection, a.data),
            EndOutput: lambda a: self._sockets.end_output(a.connection),
            Close: lambda a: self._sockets.close(a.connection),
            Launch: lambda a: self._processes.launch(a),
            Ask: lambda a: self._processes.ask(a.process, a.data),
            EndInput: lambda a: self._processes.end_input(a.process),
            Signal: lambda a: self._processes.signal(a.process, a.number),
            Wake: self._wake,
            Listen: lambda a: [Listening(self._sockets.listen(a.addresses))],
            StopListening: lambda a: self._sockets.stop_listening(),
            Exit: self._set_exit,
        }

    def run(self) -> int:
        """The code to end with: the engine's, or 0 when the host is gone."""
        while True:
            self._handle(self._poll())
            self._host.flush()  # first: an event is on its way before the agent can act on the answer
            self._processes.flush()
            self._handle(self._sockets.flush())
            if self._exit is not None:
                return self._exit
            if self._host.is_gone:
                return 0

    def _poll(self) -> List[Message]:
        """Wait for something to happen, and what it was."""
        poll = select.poll()
        owners: Dict[int, Callable[[int, int], List[Message]]] = {}
        host_lags = self._host.pending > BACKLOG_BYTES
        agent_waits = host_lags or self._processes.pending > BACKLOG_BYTES
        servers_wait = host_lags or self._sockets.pending > BACKLOG_BYTES
        for interests, owner in (
            (self._host.interests(), lambda fd, events: self._host.ready(fd)),
            (self._processes.interests(servers_wait), lambda fd, events: self._processes.ready(fd)),
            (self._sockets.interests(agent_waits), self._sockets.ready),
        ):
            for fd, events in interests:
                poll.register(fd, events)
                owners[fd] = owner
        messages: List[Message] = []
        for fd, events in poll.poll(self._patience_ms()):
            messages += owners[fd](fd, events)
        self._host.look_after()
        return [*messages, *self._processes.reap(), *self._due()]

    def _patience_ms(self) -> Optional[int]:
        waits = [s for s in (self._processes.patience_s, self._host.patience_s) if s is not None]
        if self._timers:
            waits.append(max(0.0, self._timers[0][0] - time.monotonic()))
        return None if not waits else int(min(waits) * 1000) + 1  # up: a timer must not be polled for early

    def _due(self) -> List[Message]:
        messages: List[Message] = []
        now_s = time.monotonic()
        while self._timers and self._timers[0][0] <= now_s:
            messages.append(Due(heapq.heappop(self._timers)[2]))
        return messages

    def _handle(self, messages: List[Message]) -> None:
        waiting = list(messages)
        while waiting:
            for action in self._engine.handle(waiting.pop(0), time.monotonic()):
                waiting += self._deeds[type(action)](action) or []

    def _tell(self, action: Tell) -> None:
        frame = action.frame
        if frame["type"] == "trouble":
            is_theirs = frame["blame"] == "environment"
            frame = {**frame, "stderr": self._processes.tail(frame.get("server")) if is_theirs else ""}
        self._host.tell(frame)

    def _wake(self, action: Wake) -> None:
        self._timer_count += 1  # so that two timers of one moment keep their order
        heapq.heappush(self._timers, (action.at_s, self._timer_count, action.key))

    def _set_exit(self, action: Exit) -> None:
        self._exit = action.code
