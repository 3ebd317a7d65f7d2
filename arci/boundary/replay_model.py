"""A recorded answer of a model, or of a lookup beside it, given to whoever delivers it. Pure but for that."""

from __future__ import annotations

from arci.wire.quickjson import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Mapping, Sequence

    from arci.boundary.model_delivery import Delivery

__all__ = ["is_held", "play"]


def play(delivery: Delivery, found: Mapping[str, Any]) -> None:
    """Head and pieces as they came; the end is for the caller to tell. Nothing where no answer had begun."""
    if found["status"] is None:
        return
    delivery.head(int(found["status"]), [(str(name), str(value)) for name, value in found["headers"]])
    for piece in _pieces(_body(found["response"]), found["chunks"]):
        delivery.chunk(piece)


def is_held(found: Mapping[str, Any]) -> bool:
    """The agent gave up, then: it got no end, and gets none now."""
    return found["error_kind"] in ("cancelled", "timeout")


def _body(response: Any) -> bytes:
    """JSON is written anew, since a record keeps its value; anything else is kept as its text."""
    text = response if isinstance(response, str) else dumps(response)
    return text.encode("utf-8", "surrogatepass")


def _pieces(body: bytes, counts: Sequence[int]) -> List[bytes]:
    """Cut as it came, where it has the length that it had."""
    if sum(counts) != len(body):
        return [body]
    pieces, at = [], 0
    for count in counts:
        pieces.append(body[at : at + count])
        at += count
    return pieces
