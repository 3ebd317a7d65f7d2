"""The worker's connection to the boundary: requests from any thread, answers sorted out by one reader thread.

A connection that is lost ends the process with `LOST`, whatever it is doing: nothing it does counts any more.
"""

from __future__ import annotations

import _thread  # not threading: it costs 4 ms, and a lock and a thread are all that is needed
import os
import time
from _socket import AF_INET, AF_UNIX, SOCK_STREAM, socket  # `import socket` costs 7 ms

from arci.wire.framing import MAX_CONTROL_BYTES, MAX_LINE_BYTES, LineDecoder
from arci.wire.hello import address, hello_line
from arci.wire.jsonrpc import Notification, Response, encode_strict, parse_trusted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

__all__ = ["DIAL_S", "LOST", "Link", "Refused", "dial"]

LOST = 70
"""Exit code of a worker whose connection to the boundary is gone."""
DIAL_S = 10.0
"""How long to try to connect."""

_leaving = _thread.allocate_lock()


class Refused(Exception):
    """The boundary refused a request as such (JSON-RPC error)."""


def dial(target: str) -> socket:
    """Connect to `unix:/path` or `tcp:HOST:PORT`; tries for `DIAL_S` while nobody listens, then OSError."""
    scheme, where = address(target)
    deadline = time.monotonic() + DIAL_S
    while True:
        connection = socket(AF_UNIX if scheme == "unix" else AF_INET, SOCK_STREAM)
        try:
            connection.connect(where)
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class _Pending:
    __slots__ = ("arrived", "response")

    def __init__(self) -> None:
        self.arrived = _thread.allocate_lock()
        self.arrived.acquire()
        self.response: List[Response] = []


class Link:
    """One connection of kind `worker`."""

    def __init__(self, connection: socket, token: str, on_notice: Callable[[str, Dict[str, Any]], None]) -> None:
        """`on_notice(method, params)` is called for notifications, from the reader thread."""
        self._socket = connection
        self._on_notice = on_notice
        self._sending = _thread.allocate_lock()
        self._pending: Dict[int, _Pending] = {}
        self._next_id = 0
        connection.sendall(hello_line("worker", token))
        _thread.start_new_thread(self._read, ())

    def request(self, method: str, params: Dict[str, Any]) -> Any:
        """Ask and wait for the result. Refused if the boundary refuses; TypeError, ValueError if `params` is not JSON
        or over 8 MiB."""
        pending = _Pending()
        with self._sending:
            id = self._next_id
            self._next_id += 1
            line = encode_strict({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, MAX_LINE_BYTES)
            self._pending[id] = pending
            self._send(line)
        pending.arrived.acquire()
        response = pending.response[0]
        if response.error is not None:
            raise Refused(str(response.error.get("message")))
        return response.result

    def notify(self, method: str, params: Dict[str, Any]) -> None:
        line = encode_strict({"jsonrpc": "2.0", "method": method, "params": params}, MAX_LINE_BYTES)
        with self._sending:
            self._send(line)

    def _send(self, line: bytes) -> None:
        try:
            self._socket.sendall(line)
        except OSError:
            _lost()

    def _read(self) -> None:
        decoder = LineDecoder(MAX_CONTROL_BYTES)
        while True:
            try:
                data = self._socket.recv(65536)
            except OSError:
                data = b""
            if not data:
                _lost()
            for line in decoder.feed(data):
                frame = parse_trusted(line) if isinstance(line, bytes) else None
                if isinstance(frame, Response) and isinstance(frame.id, int):
                    self._arrived(frame.id, frame)
                elif isinstance(frame, Notification):
                    self._on_notice(frame.method, frame.params)

    def _arrived(self, id: int, frame: Response) -> None:
        pending = self._pending.pop(id, None)
        if pending is not None:
            pending.response.append(frame)
            pending.arrived.release()


def _lost() -> None:
    _leaving.acquire()  # for good: a sender and the reader may both notice, and it is said once
    os.write(2, b"arci: the connection to the boundary is gone\n")
    os._exit(LOST)
