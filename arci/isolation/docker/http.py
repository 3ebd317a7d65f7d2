"""Requests to an engine on the event loop, over connections that are kept: what a trial asks, at a fifth of the cost.

The library's client takes a thread, a connection and a millisecond of CPU for each call. Everything that is not asked
once per container is asked through it all the same.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import httptools

from arci.isolation.docker.connection import Connection
from arci.isolation.docker.dial import Dialer

__all__ = ["Http", "Refused"]

_IDLE_S = 5.0
"""A connection that was not used for longer is not used again: something on the way may have forgotten it."""
_BODILESS = ("GET", "DELETE")


class Refused(Exception):
    """The engine's answer is an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Http:
    """HTTP/1.1 with one engine. `headers` go with each request.

    Refused for an answer of 400 or more, OSError for a connection that cannot be had or breaks. Cancelled, a request
    is given up with its connection, and may still take effect.
    """

    def __init__(self, dialer: Dialer, version: str, headers: Mapping[str, str]) -> None:
        self._dialer = dialer
        self._root = f"{dialer.prefix}/v{version}"
        own = {"Host": dialer.host, **headers}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        self._idle: list[tuple[float, Connection]] = []  # since when, the one used last at the end

    async def ask(self, method: str, path: str, body: Any = None, **query: str | int) -> Any:
        """The JSON value of the answer; None where it has no body. `path` is below the API's version."""
        connection = await self._connection()
        try:
            answer = await self._exchange(connection, self._request(method, path, query, body))
        except BaseException:
            connection.close()
            raise
        if answer.can_go_on:
            self._idle.append((time.monotonic(), connection))
        else:
            connection.close()
        return answer.value()

    async def upgrade(self, path: str, **query: str | int) -> Connection:
        """POST whose connection is from then on a stream of bytes, which belongs to the caller."""
        connection = await self._connection()
        try:
            upgrade = "Connection: Upgrade\r\nUpgrade: tcp\r\n"
            answer = await self._exchange(connection, self._request("POST", path, query, None, upgrade))
            answer.value()
        except BaseException:
            connection.close()
            raise
        connection.put_back(answer.rest)
        return connection

    def close(self) -> None:
        """Close the connections that nobody uses. Idempotent."""
        while self._idle:
            self._idle.pop()[1].close()

    async def _connection(self) -> Connection:
        while self._idle:
            since, connection = self._idle.pop()
            if time.monotonic() - since < _IDLE_S and connection.is_quiet:
                return connection
            connection.close()
        try:
            return await self._dialer.dial()
        except OSError as error:
            raise ConnectionError(str(error)) from error

    def _request(self, method: str, path: str, query: Mapping[str, str | int], body: Any, extra: str = "") -> bytes:
        target = f"{self._root}{path}?{urlencode(query)}" if query else f"{self._root}{path}"
        data = b"" if body is None else json.dumps(body).encode()
        if method not in _BODILESS:
            extra += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        return f"{method} {target} HTTP/1.1\r\n{self._head}{extra}\r\n".encode() + data

    async def _exchange(self, connection: Connection, request: bytes) -> _Answer:
        await connection.send(request)
        answer = _Answer()
        while not answer.is_whole:
            data = await connection.receive()
            if not data:
                raise ConnectionError("it was closed before the answer was whole")
            answer.feed(data)
        return answer


class _Answer:
    """One answer as it comes in; the parser's callbacks are its methods `on_...`."""

    def __init__(self) -> None:
        self.is_whole = False
        self.can_go_on = False
        """Another request may follow on its connection."""
        self.rest = b""
        """What came after the head of an answer that makes the connection a stream."""
        self._body = bytearray()
        self._streams = self._has_head = False
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(memoryview(data))
        except httptools.HttpParserUpgrade as upgrade:
            self.rest = data[upgrade.args[0] :]
            self.is_whole = True
        except httptools.HttpParserError as error:
            raise ConnectionError(f"what came is no HTTP: {error}") from error
        if self._streams and self._has_head and not self.is_whole:
            self.rest, self.is_whole = bytes(self._body), True

    def on_header(self, name: bytes, value: bytes) -> None:
        # An engine that streams without having been asked by 101 says so in the type, and gives no length.
        if name.lower() == b"content-type" and value.startswith(b"application/vnd.docker."):
            self._streams = True

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, data: bytes) -> None:
        self._body += data

    def on_message_complete(self) -> None:
        self.is_whole, self.can_go_on = True, self._parser.should_keep_alive()

    def value(self) -> Any:
        """Its JSON. Refused for an error, ConnectionError for what is none."""
        status = self._parser.get_status_code()
        if status >= 400:
            raise Refused(status, self._message())
        if not self._body or self._streams:
            return None
        try:
            return json.loads(self._body)
        except ValueError as error:
            raise ConnectionError(f"what came is no JSON: {error}") from error

    def _message(self) -> str:
        text = self._body.decode("utf-8", "replace")
        with suppress(ValueError, KeyError, TypeError):
            return str(json.loads(text)["message"])
        return text or "no reason was given"
