"""What the header fields of MCP over HTTP say, and the statuses of its errors. Pure."""

from __future__ import annotations

from arci.boundary.era import (
    HEADER_MISMATCH,
    MODERN_REVISIONS,
    UNSUPPORTED_REVISION,
    Refusal,
    envelope_problem,
    revision_of,
    unsupported,
)
from arci.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Notification, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from arci.wire.http_request import Head

__all__ = ["accepts_json", "header_refusal", "is_json", "is_local", "modern_status"]

_REVISION, _METHOD, _NAME = "mcp-protocol-version", "mcp-method", "mcp-name"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_STATUS = {
    **dict.fromkeys((PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, UNSUPPORTED_REVISION, HEADER_MISMATCH, -32021), 400),
    METHOD_NOT_FOUND: 404,
}
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


def modern_status(code: Optional[int]) -> int:
    """The status of an answer in the modern era; `code`: of its error, or None."""
    return 200 if code is None else _STATUS.get(code, 200)


def is_local(origin: str) -> bool:
    """Whether a page with this `Origin` may ask: a browser must not be made to by a page from elsewhere."""
    scheme, separator, host = origin.partition("://")
    if host.startswith("["):
        name, _, port = host.partition("]")
        name, port = name + "]", port.lstrip(":")
    else:
        name, _, port = host.partition(":")
    return bool(separator) and scheme in ("http", "https") and name.lower() in _LOCAL and (not port or port.isdigit())


def is_json(head: Head) -> bool:
    """Whether the body says that it is JSON, or says nothing."""
    said = head.get("content-type").partition(";")[0].strip().lower()
    return said in ("", "application/json")


def accepts_json(head: Head) -> bool:
    said = {word.partition(";")[0].strip().lower() for word in ",".join(head.all("accept")).split(",")}
    return said == {""} or bool(said & {"application/json", "application/*", "*/*"})


def header_refusal(head: Head, frame: Any) -> Optional[Refusal]:
    """Why the header fields of a message of the modern era do not fit it, or None: another reader may go by them."""
    if isinstance(frame, Notification):
        revision = head.get(_REVISION)
        return None if revision in MODERN_REVISIONS else unsupported(revision)
    if not isinstance(frame, Request):
        return None
    for name in (_REVISION, _METHOD, _NAME):
        if len(head.all(name)) > 1:
            return Refusal(HEADER_MISMATCH, f"{name} header appears more than once")
    problem = envelope_problem(frame.params)
    if problem is not None and problem.code == INVALID_PARAMS:
        return None  # refused as such by whoever takes the request
    return _mismatch(head, frame)


def _mismatch(head: Head, frame: Request) -> Optional[Refusal]:
    wrong = None
    if head.get(_REVISION) != revision_of(frame.params):
        wrong = _REVISION
    elif head.get(_METHOD) != frame.method:
        wrong = _METHOD
    elif frame.method in _NAMED_BY:
        said = frame.params.get(_NAMED_BY[frame.method])
        wrong = _NAME if said is not None and _decoded(head.get(_NAME)) != said else None
    return None if wrong is None else Refusal(HEADER_MISMATCH, f"{wrong} header does not match the request")


def _decoded(value: str) -> Optional[str]:
    """A field's text; what does not survive as such comes as `=?base64?...?=`."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    from binascii import a2b_base64, b2a_base64  # only for such names

    payload = value[9:-2].encode("latin-1")
    try:
        data = a2b_base64(payload)
        return data.decode("utf-8") if b2a_base64(data, newline=False) == payload else None
    except ValueError:
        return None
