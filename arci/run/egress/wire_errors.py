"""What the HTTP client raises, as failures: one table, and no text of it may hold a key. Pure."""

from __future__ import annotations

import httpx

from arci.run.egress.failure import Failure
from arci.run.masking import Masks

__all__ = ["wire_failure"]

_TABLE: tuple[tuple[type[Exception], str, str], ...] = (
    (httpx.ProxyError, "connect", "the proxy refused"),
    (httpx.ConnectError, "connect", "no connection"),
    (httpx.TimeoutException, "timeout", "no answer in time"),
    (httpx.NetworkError, "connect", "the connection broke"),
    (httpx.RemoteProtocolError, "protocol", "the answer is no HTTP, or was cut off"),
    (httpx.DecodingError, "protocol", "the answer cannot be decoded"),
)
_MOST_CHARACTERS = 300


def wire_failure(error: Exception, masks: Masks) -> Failure:
    """The failure that `error` is. What is unknown counts as a break of the protocol, told by its type alone: texts of
    local errors quote the headers that were sent."""
    for kind_of_error, kind, words in _TABLE:
        if isinstance(error, kind_of_error):
            text = " ".join(masks.text(str(error)).split())[:_MOST_CHARACTERS]
            return Failure(kind, f"{words} ({text})" if text else words)
    return Failure("protocol", f"the call could not be made ({type(error).__name__})")
