"""The agent's side: listening sockets and their connections, within one budget of bytes."""

from __future__ import annotations

import errno
import os
import select
from _socket import (  # `import socket`: 7 ms
    AF_INET,
    AF_UNIX,
    IPPROTO_TCP,
    SHUT_WR,
    SO_REUSEADDR,
    SOCK_STREAM,
    SOL_SOCKET,
    TCP_NODELAY,
    socket,
)

from arci.boundary.message import Closed, HalfClosed, ListeningStopped, Opened, Received
from arci.boundary.outlet import Outlet
from arci.wire.hello import address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Sequence, Tuple

    from arci.boundary.message import Message

__all__ = ["SocketPort"]

MOST_CONNECTIONS = 1000
"""Further ones wait to be accepted."""
UNSENT_BYTES = 64 * 1024 * 1024
"""Bytes that all connections together may leave unread; beyond it, the one with the most is ended."""
PAUSE_BYTES = 1024 * 1024
"""A connection that leaves so much unread is not read from, until it has read."""
ROUND_BYTES = 4 * 1024 * 1024
"""What all connections together may bring in one round, so that a crowd fills no more memory than one."""


class _Peer:
    """One accepted connection."""

    __slots__ = ("connection", "has_ended", "is_closing", "is_ending_output", "outlet", "socket")

    def __init__(self, connection: int, accepted: socket) -> None:
        accepted.setblocking(False)
        self.connection = connection
        self.socket = accepted
        self.outlet = Outlet(accepted.fileno())
        self.has_ended = False  # the other side sends no more
        self.is_ending_output = False
        self.is_closing = False

    @property
    def events(self) -> int:
        """What to wait for; with 0 a hang-up is reported too."""
        reads = not (self.has_ended or self.is_closing or self.outlet.pending > PAUSE_BYTES)
        return (select.POLLIN if reads else 0) | (select.POLLOUT if self.outlet.pending else 0)


class SocketPort:
    """Numbers connections from 0 on; a number is never used again."""

    def __init__(self) -> None:
        self._listeners: Dict[int, socket] = {}
        self._next = 0
        self._most = MOST_CONNECTIONS
        self._peers: Dict[int, _Peer] = {}
        self._by_fd: Dict[int, _Peer] = {}

    @property
    def pending(self) -> int:
        """Bytes that all connections together leave unread."""
        return sum(p.outlet.pending for p in self._peers.values())

    def listen(self, addresses: Sequence[str]) -> List[str]:
        """The addresses as they can be dialled: port 0 is any. OSError, ValueError if one cannot be had."""
        return [self._listen(where) for where in addresses]

    def _listen(self, where: str) -> str:
        scheme, target = address(where)
        listener = socket(AF_UNIX if scheme == "unix" else AF_INET, SOCK_STREAM)
        if scheme == "tcp":
            listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        listener.bind(target)
        if isinstance(target, str):
            os.chmod(target, 0o666)  # whoever relays to it may run under another uid; the token is the key
        listener.listen(128)
        listener.setblocking(False)
        self._listeners[listener.fileno()] = listener
        return where if scheme == "unix" else "tcp:{}:{}".format(*listener.getsockname())

    def stop_listening(self) -> List[Message]:
        """Accept what waits, then listen no more."""
        messages: List[Message] = []
        for listener in self._listeners.values():
            messages += self._accept(listener)
            listener.close()
        self._listeners.clear()
        return [*messages, ListeningStopped()]

    def interests(self, is_paused: bool) -> List[Tuple[int, int]]:
        """Descriptors to poll. `is_paused`: read nothing, because what was read before is not taken yet."""
        is_full = len(self._peers) >= self._most
        interests = [] if is_full else [(fd, select.POLLIN) for fd in self._listeners]
        kept = ~select.POLLIN if is_paused else ~0
        return interests + [(fd, peer.events & kept) for fd, peer in self._by_fd.items()]

    def ready(self, fd: int, events: int) -> List[Message]:
        """What an event on one of these descriptors brings."""
        peer = self._by_fd.get(fd)
        if peer is None:
            listener = self._listeners.get(fd)
            return [] if listener is None else self._accept(listener)
        if events & select.POLLIN and not peer.is_closing:
            return self._read(peer, bool(events & select.POLLHUP))
        if events & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
            # Nobody will read what is left. What it sent before may still be there, so read to the end first.
            peer.outlet.give_up()
            return [] if peer.is_closing else self._read(peer, True)
        return []

    def send(self, connection: int, data: bytes) -> None:
        peer = self._peers.get(connection)
        if peer is not None:
            peer.outlet.put(data)

    def end_output(self, connection: int) -> None:
        """Half-close a connection once what was sent to it is written."""
        peer = self._peers.get(connection)
        if peer is not None:
            peer.is_ending_output = True

    def close(self, connection: int) -> None:
        """End a connection once what was sent to it is written."""
        peer = self._peers.get(connection)
        if peer is not None:
            peer.is_closing = True

    def flush(self) -> List[Message]:
        """Write what can be written; end what is to be ended, and who leaves too much unread."""
        for peer in list(self._peers.values()):
            peer.outlet.flush()
            if not peer.outlet.pending:
                self._end_if_asked(peer)
        if self.pending <= UNSENT_BYTES:
            return []
        worst = max(self._peers.values(), key=lambda p: p.outlet.pending)
        self._drop(worst)
        return [] if worst.is_closing else [Closed(worst.connection)]

    def _end_if_asked(self, peer: _Peer) -> None:
        if peer.is_closing:
            self._drop(peer)
        elif peer.is_ending_output:
            peer.is_ending_output = False
            try:
                peer.socket.shutdown(SHUT_WR)
            except OSError:
                return  # the other side is gone, which poll will tell

    def _accept(self, listener: socket) -> List[Message]:
        messages: List[Message] = []
        while len(self._peers) < self._most:
            try:
                accepted = socket(fileno=listener._accept()[0])  # type: ignore[attr-defined]  # typeshed leaves it out
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._most = max(1, len(self._peers))  # no descriptor is left: live with as many as there are
                break  # nobody waits, or whoever waited is gone
            if accepted.family == AF_INET:  # or a streamed answer waits for the client's delayed acknowledgement
                accepted.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
            peer = _Peer(self._next, accepted)
            self._next += 1
            self._peers[peer.connection] = peer
            self._by_fd[accepted.fileno()] = peer
            messages.append(Opened(peer.connection))
        return messages

    def _read(self, peer: _Peer, has_hung_up: bool) -> List[Message]:
        try:
            data = peer.socket.recv(max(4096, min(65536, ROUND_BYTES // len(self._peers))))
        except BlockingIOError:
            return []
        except OSError:
            data, has_hung_up = b"", True
        if data:
            return [Received(peer.connection, data)]
        if has_hung_up:
            self._drop(peer)
            return [Closed(peer.connection)]
        peer.has_ended = True
        return [HalfClosed(peer.connection)]

    def _drop(self, peer: _Peer) -> None:
        del self._peers[peer.connection]
        del self._by_fd[peer.socket.fileno()]
        peer.socket.close()
