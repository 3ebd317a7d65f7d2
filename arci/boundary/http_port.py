"""The HTTP port where there are upstreams too: each request goes to MCP or to an upstream, by its place. Sans-io."""

from __future__ import annotations

from arci.boundary.http_talk import HttpTalk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Union

    from arci.boundary.connections import Connection
    from arci.boundary.http_site import HttpSite
    from arci.boundary.http_talk import Exchange
    from arci.boundary.intake import Intake
    from arci.boundary.upstream_site import UpstreamSite

__all__ = ["HttpPort"]


class HttpPort:
    def __init__(
        self, mcp: HttpSite, upstreams: UpstreamSite, intake: Intake, answered: Callable[[Connection], None]
    ) -> None:
        self._mcp = mcp
        self._upstreams = upstreams
        self._intake = intake
        self._answered = answered

    def talk(self, connection: Connection, request_line: bytes) -> Optional[HttpTalk]:
        """None for a connection whose first request is not even on the way to somewhere."""
        words = request_line.decode("latin-1").split(" ")
        if len(words) != 3 or not (self._upstreams.is_place(words[1]) or self._mcp.is_place(words[1])):
            return None
        return HttpTalk(connection, self, self._intake, self._answered)

    def admits(self, exchange: Exchange) -> bool:
        return self._site(exchange).admits(exchange)

    def take(self, connection: Connection, exchange: Exchange, body: bytes) -> None:
        self._site(exchange).take(connection, exchange, body)

    def _site(self, exchange: Exchange) -> Union[HttpSite, UpstreamSite]:
        head = exchange.head
        return self._upstreams if head is not None and self._upstreams.is_place(head.target) else self._mcp
