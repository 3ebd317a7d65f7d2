"""A model upstream at the HTTP port: its requests handed to whoever calls models, or looks something up. Sans-io."""

from __future__ import annotations

from arci.boundary.model_call import Asked
from arci.boundary.upstream_headers import asked as asked_headers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Tuple

    from arci.boundary.connections import Connection
    from arci.boundary.http_exchange import Exchange
    from arci.boundary.lookups import Lookups
    from arci.boundary.model_calls import ModelCalls
    from arci.boundary.terms import UpstreamTerms
    from arci.boundary.upstream_place import UpstreamPlace
    from arci.wire.http_request import Head

__all__ = ["ModelUpstream"]

_LOOKUPS = ("models", "count")


class ModelUpstream:
    """See `upstream_site.Upstream`."""

    def __init__(self, terms: UpstreamTerms, shapes: Any, calls: ModelCalls, lookups: Lookups) -> None:
        self.terms = terms
        self.shapes = shapes
        self._calls = calls
        self._lookups = lookups

    def head_problem(self, head: Head) -> Optional[Tuple[int, str]]:
        return None

    def refuse_body(self, connection: Connection, exchange: Exchange, detail: str) -> None:
        connection.bad_frame(f"upstream {self.terms.name}: {detail}")
        exchange.respond(400, self.shapes.error(400, detail))

    def take(self, exchange: Exchange, place: UpstreamPlace, data: bytes, body: Dict[str, Any]) -> None:
        head = exchange.head
        assert head is not None
        route = self.shapes.ROUTES[head.method, place.route]
        headers = asked_headers(head)
        asked = Asked(exchange, self.terms, self.shapes, route, place.path, headers, data, body)
        if route in _LOOKUPS:
            self._lookups.arrive(asked, head.method)
        else:
            self._calls.arrive(asked)
