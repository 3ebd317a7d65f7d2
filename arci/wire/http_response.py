"""HTTP/1.1 responses. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Tuple

    Fields = Tuple[Tuple[str, str], ...]

__all__ = ["CONTINUE", "LAST_CHUNK", "chunk", "head", "response"]

_REASONS: Dict[int, str] = {
    200: "OK",
    202: "Accepted",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    417: "Expectation Failed",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def head(status: int, fields: Fields, *, closes: bool = False) -> bytes:
    """Status line and header fields. A status without a name of its own here is an upstream's."""
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Other')}", *(f"{name}: {value}" for name, value in fields)]
    if closes:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1")


def chunk(data: bytes) -> bytes:
    """A piece of a body whose length is not known. `data` must not be empty: that would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def response(status: int, body: bytes = b"", fields: Fields = (), *, closes: bool = False) -> bytes:
    """A whole response. Its body, where there is one, is JSON unless `fields` say what it is."""
    own: Fields = ()
    if body and not any(name.lower() == "content-type" for name, _ in fields):
        own = (("Content-Type", "application/json"),)
    if status != 204:
        own = (*own, ("Content-Length", str(len(body))))
    return head(status, (*own, *fields), closes=closes) + body
