"""The recorder's loop: polls its ports, hands what happened to the engine, does what the engine says. One thread."""

from __future__ import annotations

import heapq
import select
import time

from arci.boundary.message import (
    Ask,
    Close,
    Due,
    EndEnvironment,
    Exit,
    Listen,
    Send,
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
    from arci.boundary.process import ProcessPort
    from arci.boundary.sockets import SocketPort

__all__ = ["Loop"]

BACKLOG_BYTES = 32 * 1024 * 1024
"""While host or environment leave so much unread, nothing is read from the agent."""


class Loop:
    """Runs one engine until it exits or the host is gone."""

    def __init__(self, engine: Engine, host: HostPort, sockets: SocketPort, process: ProcessPort) -> None:
        self._engine = engine
        self._host = host
        self._sockets = sockets
        self._process = process
        self._timers: List[Tuple[float, int, Key]] = []
        self._timer_count = 0
        self._exit: Optional[int] = None
        self._deeds: Dict[type, Callable[[Any], Optional[List[Message]]]] = {
            Tell: self._tell,
            Send: lambda a: self._sockets.send(a.connection, a.data),
            Close: lambda a: self._sockets.close(a.connection),
            Ask: lambda a: self._process.ask(a.data),
            Wake: self._wake,
            Listen: lambda a: self._sockets.listen(a.address),
            StopListening: lambda a: self._sockets.stop_listening(),
            EndEnvironment: lambda a: self._process.end_input(),
            Exit: self._set_exit,
        }

    def run(self) -> int:
        """The code to end with: the engine's, or 0 when the host is gone."""
        while True:
            self._handle(self._poll())
            self._host.flush()  # first: an event is on its way before the agent can act on the answer
            self._process.flush()
            self._handle(self._sockets.flush())
            if self._exit is not None:
                return self._exit
            if self._host.is_gone:
                return 0

    def _poll(self) -> List[Message]:
        """Wait for something to happen, and what it was."""
        poll = select.poll()
        owners: Dict[int, Callable[[int, int], List[Message]]] = {}
        is_paused = self._host.pending > BACKLOG_BYTES or self._process.pending > BACKLOG_BYTES
        for interests, owner in (
            (self._host.interests(), lambda fd, events: self._host.ready(fd)),
            (self._process.interests(), lambda fd, events: self._process.ready(fd)),
            (self._sockets.interests(is_paused), self._sockets.ready),
        ):
            for fd, events in interests:
                poll.register(fd, events)
                owners[fd] = owner
        messages: List[Message] = []
        for fd, events in poll.poll(self._patience_ms()):
            messages += owners[fd](fd, events)
        return [*messages, *self._process.reap(), *self._due()]

    def _patience_ms(self) -> Optional[int]:
        waits = [] if self._process.patience_s is None else [self._process.patience_s]
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
            frame = {**frame, "stderr": self._process.tail() if frame["blame"] == "environment" else ""}
        self._host.tell(frame)

    def _wake(self, action: Wake) -> None:
        self._timer_count += 1  # so that two timers of one moment keep their order
        heapq.heappush(self._timers, (action.at_s, self._timer_count, action.key))

    def _set_exit(self, action: Exit) -> None:
        self._exit = action.code
