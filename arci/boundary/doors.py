"""Who is let in, and what is then spoken: one talk for each kind of connection. Sans-io."""

from __future__ import annotations

from arci.boundary.talk import ClientTalk, ServerTalk, StatusTalk
from arci.boundary.the_server import the_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Mapping, Optional, Union

    from arci.boundary.connections import Connection, Talk
    from arci.boundary.http_port import HttpPort
    from arci.boundary.http_site import HttpSite
    from arci.boundary.intake import Intake
    from arci.boundary.notices import Notices
    from arci.boundary.rpc import Dispatch
    from arci.boundary.servers import Servers
    from arci.boundary.status import Status
    from arci.wire.hello import Hello

__all__ = ["Doors"]


class Doors:
    def __init__(
        self,
        servers: Servers,
        status: Status,
        dispatches: Mapping[str, Dispatch],
        notices: Notices,
        port: Callable[[], Union[HttpPort, HttpSite]],
        intake: Intake,
        answered: Callable[[Connection], None],
    ) -> None:
        """`dispatches`: for `mcp` and `worker`. `port`: makes what speaks HTTP, once somebody does. `answered`: told of
        a connection when something it asked is over."""
        self._servers = servers
        self._status = status
        self._dispatches = dispatches
        self._notices = notices
        self._make_port = port
        self._port: Optional[Union[HttpPort, HttpSite]] = None
        self._intake = intake
        self._answered = answered

    def hello(self, connection: Connection, hello: Hello) -> Optional[Talk]:
        if hello.kind == "status":
            return StatusTalk(connection, self._status)
        if hello.kind == "environment":
            is_let_in = hello.server is not None and self._servers.connected(hello.server, connection)
            return ServerTalk(hello.server or "", self._servers) if is_let_in else None
        server = None if hello.kind == "worker" else the_server(self._servers, hello.server)
        if server is None and hello.kind == "mcp":
            return None
        left = self._notices.left
        dispatch = self._dispatches[hello.kind]
        talk = ClientTalk(connection, server, dispatch, self._intake, self._answered, lambda c: left(c.id))
        self._notices.listens(connection.id, talk.session)
        return talk

    def http(self, connection: Connection, request_line: bytes) -> Optional[Talk]:
        if self._port is None:
            self._port = self._make_port()
        return self._port.talk(connection, request_line)
