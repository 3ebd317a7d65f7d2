"""Requests for upstreams on the HTTP port: who may ask, what can be asked; refusals in its own shape. Sans-io."""

from __future__ import annotations

from arci.boundary.upstream_headers import credentials
from arci.boundary.upstream_place import place_of
from arci.wire.hello import is_token
from arci.wire.strict import read, shape_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Optional, Protocol, Tuple

    from arci.boundary.connections import Connection
    from arci.boundary.http_exchange import Exchange
    from arci.boundary.terms import UpstreamTerms
    from arci.boundary.upstream_place import UpstreamPlace
    from arci.wire.http_request import Head

    class Upstream(Protocol):
        """One upstream, whatever its kind."""

        terms: UpstreamTerms
        shapes: Any
        """The module of its API: `ROUTES`, `error`, `models`."""

        def head_problem(self, head: Head) -> Optional[Tuple[int, str]]: ...  # of a POST, besides those of all kinds
        def refuse_body(self, connection: Connection, exchange: Exchange, detail: str) -> None: ...
        def take(self, exchange: Exchange, place: UpstreamPlace, data: bytes, body: Dict[str, Any]) -> None: ...


__all__ = ["UpstreamSite"]


class UpstreamSite:
    def __init__(self, token: str, upstreams: Mapping[str, Upstream], is_rehearsal: bool) -> None:
        self._token = token
        self._upstreams = upstreams
        self._is_rehearsal = is_rehearsal

    def is_place(self, target: str) -> bool:
        return place_of(target) is not None

    def admits(self, exchange: Exchange) -> bool:
        """Whether its body is to be read; if not, it is answered."""
        head = exchange.head
        assert head is not None
        place = place_of(head.target)
        assert place is not None
        upstream = self._upstreams.get(place.name)
        problem = self._problem(head, place, upstream)
        if problem is None:
            return True
        if problem[0] == 401:
            exchange.fields = (("WWW-Authenticate", "Bearer"),)
        exchange.respond(problem[0], _error(upstream, *problem))
        return False

    def take(self, connection: Connection, exchange: Exchange, body: bytes) -> None:
        head = exchange.head
        assert head is not None
        place = place_of(head.target)
        assert place is not None
        upstream = self._upstreams[place.name]
        if self._is_rehearsal:
            return  # it is only to be seen whether the agent starts: nothing is asked, so nothing is answered
        if head.method == "GET":
            _list(upstream, exchange, place)
            return
        if len(body) > upstream.terms.max_body_bytes:  # it came in chunks, without saying its length
            exchange.respond(413, _error(upstream, 413, _too_large(upstream)))
            return
        value, problem = _object(body)
        if problem is not None:
            upstream.refuse_body(connection, exchange, problem)
        else:
            upstream.take(exchange, place, body, value)

    def _problem(self, head: Head, place: UpstreamPlace, upstream: Optional[Upstream]) -> Optional[Tuple[int, str]]:
        tokens = credentials(head) if place.token is None else [place.token]
        if not any(is_token(token.encode("latin-1"), self._token) for token in tokens):
            return 401, "the token of this trial is required"
        if upstream is None:
            return 404, f"no upstream is called {place.name[:100]!r}"
        if (head.method, place.route) not in upstream.shapes.ROUTES:
            return 404, f"{head.method} {place.route[:200]} is not served here"
        return None if head.method == "GET" else _post_problem(head, upstream)


def _post_problem(head: Head, upstream: Upstream) -> Optional[Tuple[int, str]]:
    own = upstream.head_problem(head)
    if own is not None:
        return own
    length = head.get("content-length")
    if length and int(length) > upstream.terms.max_body_bytes:
        return 413, _too_large(upstream)
    if head.get("content-encoding").lower() not in ("", "identity"):
        return 415, "a body that is encoded is not read"
    return None


def _too_large(upstream: Upstream) -> str:
    return f"a body may have {upstream.terms.max_body_bytes} bytes"


def _list(upstream: Upstream, exchange: Exchange, place: UpstreamPlace) -> None:
    """The models: the pinned one, else what the upstream says."""
    model = upstream.terms.model
    if model is None:
        upstream.take(exchange, place, b"", {})
    else:
        exchange.respond(200, upstream.shapes.models(model))


def _object(body: bytes) -> Tuple[Dict[str, Any], Optional[str]]:
    """The JSON object that a body is, or what is wrong with it."""
    problem = shape_problem(body)
    if problem is not None:
        return {}, problem
    try:
        value, problems = read(body)
    except (ValueError, RecursionError):
        return {}, "the body is no JSON"
    if not isinstance(value, dict):
        return {}, "the body is no JSON object"
    return value, problems[0] if problems else None


def _error(upstream: Optional[Upstream], status: int, message: str) -> bytes:
    if upstream is None:
        from arci.boundary import openai_shapes

        return openai_shapes.error(status, message)
    body: bytes = upstream.shapes.error(status, message)
    return body
