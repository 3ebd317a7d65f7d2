"""MCP's Streamable HTTP: who may ask, what each method does, one message in and one JSON answer out. Sans-io."""

from __future__ import annotations

from arci.boundary.era import LEGACY_REVISIONS, MODERN, has_envelope
from arci.boundary.http_headers import accepts_json, header_refusal, is_json, is_local, modern_status
from arci.boundary.http_talk import HttpTalk
from arci.boundary.session import Session
from arci.boundary.the_server import the_server
from arci.wire.hello import is_token
from arci.wire.jsonrpc import INVALID_REQUEST, Bad, Request, error_line, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from arci.boundary.connections import Connection
    from arci.boundary.http_talk import Exchange
    from arci.boundary.intake import Intake
    from arci.boundary.rpc import Dispatch
    from arci.boundary.servers import Servers
    from arci.boundary.session import Reply
    from arci.wire.http_request import Head

__all__ = ["HttpSite"]

MOST_SESSIONS = 1000
"""Beyond it, the oldest is forgotten."""

_SESSION = "mcp-session-id"
_REVISION = "mcp-protocol-version"
_ALLOW = (("Allow", "POST, DELETE"),)


class HttpSite:
    """`/TOKEN/mcp[/SERVER]`, or `/mcp[/SERVER]` with the token as bearer."""

    def __init__(
        self, token: str, servers: Servers, dispatch: Dispatch, intake: Intake, answered: Callable[[Connection], None]
    ) -> None:
        self._token = token
        self._servers = servers
        self._dispatch = dispatch
        self._intake = intake
        self._answered = answered
        self._sessions: Dict[str, Session] = {}
        self._count = 0

    def is_place(self, target: str) -> bool:
        """Whether a target is on the way to a server."""
        return _place(target) is not None

    def talk(self, connection: Connection, request_line: bytes) -> Optional[HttpTalk]:
        """None for a connection whose first request is not even on the way to a server."""
        words = request_line.decode("latin-1").split(" ")
        if len(words) != 3 or _place(words[1]) is None:
            return None
        return HttpTalk(connection, self, self._intake, self._answered)

    def admits(self, exchange: Exchange) -> bool:
        """Whether its body is to be read; if not, it is answered."""
        head = exchange.head
        assert head is not None
        status = self._refusal(head)
        if status is None and head.method == "POST":
            return True
        if status is None:
            status = self._other(head)
        if status == 405 or head.method == "OPTIONS":
            exchange.fields = _ALLOW
        if status == 401:
            exchange.fields = (("WWW-Authenticate", "Bearer"),)
        exchange.respond(status)
        return False

    def take(self, connection: Connection, exchange: Exchange, body: bytes) -> None:
        """The body of a POST."""
        head, frame = exchange.head, parse(body)
        assert head is not None
        is_modern = _is_modern(head, frame)
        reply = _replier(exchange, is_modern, isinstance(frame, Bad))
        session = self._session(exchange, frame, is_modern)
        if session is None:
            line = error_line(frame.id if isinstance(frame, Request) else None, INVALID_REQUEST, "no such session")
            exchange.respond(404, line.rstrip(b"\n"))
            return
        session.bad_frame = connection.bad_frame
        refusal = header_refusal(head, frame) if is_modern else None
        if refusal is not None:
            id = frame.id if isinstance(frame, Request) else None
            reply(error_line(id, refusal.code, refusal.message, refusal.data), refusal.code)
        else:
            self._dispatch.frame(session, frame, len(body), reply)

    def _refusal(self, head: Head) -> Optional[int]:
        """The status with which a request is refused whatever it asks, or None."""
        place = _place(head.target)
        if place is None:
            return 404
        token, server = place
        if token is None and not self._is_bearer(head):
            return 401
        if (token is not None and not is_token(token.encode("latin-1"), self._token)) or self._server(server) is None:
            return 404
        if not all(is_local(origin) for origin in head.all("origin")):
            return 403
        return _unfit(head) if head.method == "POST" else None

    def _other(self, head: Head) -> int:
        """The status of what is no refused request, and no POST that is to be read."""
        if head.method == "OPTIONS":
            return 204
        if head.method != "DELETE":
            return 405
        session = head.get(_SESSION)
        return 404 if session and self._sessions.pop(session, None) is None else 200

    def _is_bearer(self, head: Head) -> bool:
        scheme, _, token = head.get("authorization").partition(" ")
        return scheme.lower() == "bearer" and is_token(token.strip().encode("latin-1"), self._token)

    def _server(self, named: Optional[str]) -> Optional[str]:
        return the_server(self._servers, named)

    def _session(self, exchange: Exchange, frame: Any, is_modern: bool) -> Optional[Session]:
        """The session that a message belongs to: a known one, a new one, one for this message alone; None: unknown."""
        head = exchange.head
        assert head is not None
        named, server = head.get(_SESSION), self._server((_place(head.target) or (None, None))[1])
        if named and not is_modern:
            known = self._sessions.get(named)
            return known if known is not None and known.server == server else None
        session = Session("mcp", server, lambda detail: None, lambda method, params: None)
        if is_modern:
            session.era = MODERN
        elif isinstance(frame, Request) and frame.method == "initialize":
            exchange.fields = (("Mcp-Session-Id", self._keep(session)),)
        return session

    def _keep(self, session: Session) -> str:
        """Its id need not be hard to guess: whoever has the token is the one agent of this trial."""
        self._count += 1
        id = f"session-{self._count}"
        self._sessions[id] = session
        if len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return id


def _place(target: str) -> Optional[Tuple[Optional[str], Optional[str]]]:
    """Token and server that a target names, each None where it does not; None if it is no place of this site."""
    parts: List[str] = target.partition("?")[0].split("/")[1:]
    if parts[-1:] == [""]:
        del parts[-1]
    token = None if parts[:1] == ["mcp"] else next(iter(parts), None)
    rest = parts if token is None else parts[1:]
    if not target.startswith("/") or rest[:1] != ["mcp"] or len(rest) > 2:
        return None
    return token, rest[1] if len(rest) == 2 else None


def _unfit(head: Head) -> Optional[int]:
    """The status of a POST that brings or wants something else than JSON."""
    if not is_json(head):
        return 415
    return None if accepts_json(head) else 406


def _is_modern(head: Head, frame: Any) -> bool:
    """By the header where it says so, else by the envelope."""
    revision = head.get(_REVISION)
    if revision and revision not in LEGACY_REVISIONS:
        return True
    return isinstance(frame, Request) and frame.method != "initialize" and has_envelope(frame.params)


def _replier(exchange: Exchange, is_modern: bool, is_bad: bool) -> Reply:
    """Modern clients read the status of an error, legacy ones the body of a 200; bad frames are 400 to both."""

    def reply(line: Optional[bytes], code: Optional[int]) -> None:
        if line is None:
            exchange.respond(202)
        else:
            exchange.respond(modern_status(code) if is_modern or is_bad else 200, line.rstrip(b"\n"))

    return reply
