"""HTTP/1.1 responses. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Tuple

    Fields = Tuple[Tuple[str, str], ...]

__all__ = ["CONTINUE", "response"]

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
    413: "Content Too Large",
    415: "Unsupported Media Type",
    431: "Request Header Fields Too Large",
    501: "Not Implemented",
    505: "HTTP Version Not Supported",
}

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def response(status: int, body: bytes = b"", fields: Fields = (), *, closes: bool = False) -> bytes:
    """A whole response. Its body, where there is one, is JSON."""
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}"]
    if body:
        lines.append("Content-Type: application/json")
    if status != 204:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in fields]
    if closes:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1") + body
