"""The agent's side: a listening socket and its connections, within one budget of bytes."""

from __future__ import annotations

import errno
import os
import select
from _socket import AF_INET, AF_UNIX, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket  # `import socket` costs 7 ms

from arci.boundary.message import Closed, ListeningStopped, Opened, Received
from arci.boundary.outlet import Outlet
from arci.wire.hello import address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

    from arci.boundary.message import Message

__all__ = ["SocketPort"]

MOST_CONNECTIONS = 200
"""Further ones wait to be accepted."""
UNSENT_BYTES = 64 * 1024 * 1024
"""Bytes that all connections together may leave unread; beyond it, the one with the most is ended."""
PAUSE_BYTES = 1024 * 1024
"""A connection that leaves so much unread is not read from, until it has read."""


class _Peer:
    """One accepted connection."""

    __slots__ = ("connection", "is_closing", "outlet", "socket")

    def __init__(self, connection: int, accepted: socket) -> None:
        accepted.setblocking(False)
        self.connection = connection
        self.socket = accepted
        self.outlet = Outlet(accepted.fileno())
        self.is_closing = False


class SocketPort:
    """Numbers connections from 0 on; a number is never used again."""

    def __init__(self) -> None:
        self._listener: Optional[socket] = None
        self._next = 0
        self._most = MOST_CONNECTIONS
        self._peers: Dict[int, _Peer] = {}
        self._by_fd: Dict[int, _Peer] = {}

    def listen(self, where: str) -> None:
        """OSError, ValueError if the address cannot be had."""
        scheme, target = address(where)
        listener = socket(AF_UNIX if scheme == "unix" else AF_INET, SOCK_STREAM)
        if scheme == "tcp":
            listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        listener.bind(target)
        if isinstance(target, str):
            os.chmod(target, 0o666)  # whoever relays to it may run under another uid; the token is the key
        listener.listen(128)
        listener.setblocking(False)
        self._listener = listener

    def stop_listening(self) -> List[Message]:
        """Accept what waits, then listen no more."""
        messages: List[Message] = []
        if self._listener is not None:
            messages = self._accept(self._listener)
            self._listener.close()
            self._listener = None
        return [*messages, ListeningStopped()]

    def interests(self, is_paused: bool) -> List[Tuple[int, int]]:
        """Descriptors to poll. `is_paused`: read nothing, because what was read before is not taken yet."""
        interests: List[Tuple[int, int]] = []
        if self._listener is not None and len(self._peers) < self._most:
            interests.append((self._listener.fileno(), select.POLLIN))
        for fd, peer in self._by_fd.items():
            reads = not (is_paused or peer.is_closing or peer.outlet.pending > PAUSE_BYTES)
            events = (select.POLLIN if reads else 0) | (select.POLLOUT if peer.outlet.pending else 0)
            interests.append((fd, events))  # with 0 too: a hang-up is always reported
        return interests

    def ready(self, fd: int, events: int) -> List[Message]:
        """What an event on one of these descriptors brings."""
        peer = self._by_fd.get(fd)
        if peer is None:
            return self._accept(self._listener) if self._listener is not None else []
        if events & select.POLLIN and not peer.is_closing:
            return self._read(peer)
        if events & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
            # Nobody will read what is left. What it sent before may still be there, so read to the end first.
            peer.outlet.give_up()
            return [] if peer.is_closing else self._read(peer)
        return []

    def send(self, connection: int, data: bytes) -> None:
        peer = self._peers.get(connection)
        if peer is not None:
            peer.outlet.put(data)

    def close(self, connection: int) -> None:
        """End a connection once what was sent to it is written."""
        peer = self._peers.get(connection)
        if peer is not None:
            peer.is_closing = True

    def flush(self) -> List[Message]:
        """Write what can be written; end what is to be ended, and who leaves too much unread."""
        for peer in list(self._peers.values()):
            peer.outlet.flush()
            if peer.is_closing and (peer.outlet.is_broken or not peer.outlet.pending):
                self._drop(peer)
        if sum(p.outlet.pending for p in self._peers.values()) <= UNSENT_BYTES:
            return []
        worst = max(self._peers.values(), key=lambda p: p.outlet.pending)
        self._drop(worst)
        return [] if worst.is_closing else [Closed(worst.connection)]

    def _accept(self, listener: socket) -> List[Message]:
        messages: List[Message] = []
        while len(self._peers) < self._most:
            try:
                accepted = socket(fileno=listener._accept()[0])  # type: ignore[attr-defined]  # typeshed leaves it out
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    self._most = max(1, len(self._peers))  # no descriptor is left: live with as many as there are
                break  # nobody waits, or whoever waited is gone
            peer = _Peer(self._next, accepted)
            self._next += 1
            self._peers[peer.connection] = peer
            self._by_fd[accepted.fileno()] = peer
            messages.append(Opened(peer.connection))
        return messages

    def _read(self, peer: _Peer) -> List[Message]:
        try:
            data = peer.socket.recv(65536)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if data:
            return [Received(peer.connection, data)]
        self._drop(peer)
        return [Closed(peer.connection)]

    def _drop(self, peer: _Peer) -> None:
        del self._peers[peer.connection]
        del self._by_fd[peer.socket.fileno()]
        peer.socket.close()
