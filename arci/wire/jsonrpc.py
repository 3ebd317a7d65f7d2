"""JSON-RPC 2.0 frames with strict ids: what a line is, and the lines to answer with. Pure."""

from __future__ import annotations

from arci.wire.quickjson import dumps, loads
from arci.wire.strict import read, shape_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Union

    Id = Union[int, str]

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "Bad",
    "Notification",
    "Request",
    "Response",
    "encode",
    "encode_strict",
    "error_line",
    "notification_line",
    "parse",
    "parse_trusted",
    "request_line",
    "result_line",
    "spliced_line",
]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_LARGEST_ID = 2**53
_KEYS = ("jsonrpc", "id", "method", "params", "result", "error")


class Request:
    """A call that must be answered. `params` is {} where there were none."""

    __slots__ = ("id", "method", "params")

    def __init__(self, id: Id, method: str, params: Dict[str, Any]) -> None:
        self.id = id
        self.method = method
        self.params = params


class Notification:
    """A message that is never answered."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: Dict[str, Any]) -> None:
        self.method = method
        self.params = params


class Response:
    """An answer: `error` is None or an object with `code` and `message`; else `result` counts."""

    __slots__ = ("error", "id", "raw", "result")

    def __init__(self, id: Optional[Id], result: Any, error: Optional[Dict[str, Any]]) -> None:
        self.id = id
        self.result = result
        self.error = error
        self.raw: Optional[bytes] = None
        """The bytes of `result` as they came, where whoever parsed it kept them: they can be passed on unchanged."""


class Bad:
    """A frame that is refused: the JSON-RPC error code to answer with, why, and the id if it can be trusted."""

    __slots__ = ("code", "detail", "id")

    def __init__(self, code: int, detail: str, id: Optional[Id] = None) -> None:
        self.code = code
        self.detail = detail
        self.id = id


if TYPE_CHECKING:
    Frame = Union[Request, Notification, Response, Bad]


def parse(line: bytes) -> Frame:
    """What one line is. Never raises: what is no acceptable frame is `Bad`."""
    problem = shape_problem(line)
    if problem is not None:
        return Bad(INVALID_REQUEST, problem)
    try:
        value, problems = read(line)
    except (ValueError, RecursionError) as error:
        return Bad(PARSE_ERROR, f"not JSON: {error}"[:200])
    if isinstance(value, list):
        return Bad(INVALID_REQUEST, "batches are not part of this protocol; send one message per line")
    if not isinstance(value, dict):
        return Bad(INVALID_REQUEST, "a message is an object")
    return _frame(value, problems)


def parse_trusted(line: bytes) -> Frame:
    """The same for a line of ARCI's own programs: its shape is not limited and ambiguity not looked for."""
    value = loads(line)
    return _frame(value, []) if isinstance(value, dict) else Bad(INVALID_REQUEST, "a message is an object")


def _frame(value: Dict[str, Any], problems: List[str]) -> Frame:
    problem = _key_problem(value)
    if problem is not None:
        problems = [*problems, problem]
    if problems:
        return Bad(INVALID_REQUEST, "ambiguous: " + "; ".join(problems), _trusted_id(value, problems))
    if value.get("jsonrpc") != "2.0":
        return Bad(INVALID_REQUEST, 'jsonrpc must be "2.0"', _trusted_id(value, []))
    if "method" not in value:
        return _response(value)
    method, params = value["method"], value.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        return Bad(INVALID_REQUEST, "method must be a string and params an object", _trusted_id(value, []))
    if "id" not in value:
        return Notification(method, params)
    if not _is_id(value["id"]):
        return Bad(INVALID_REQUEST, "id must be a string or an integer within 2^53")
    return Request(value["id"], method, params)


def _response(value: Dict[str, Any]) -> Frame:
    if ("result" in value) == ("error" in value) or not (_is_id(value.get("id")) or value.get("id", 0) is None):
        return Bad(INVALID_REQUEST, "neither a request nor a response", _trusted_id(value, []))
    error = value.get("error")
    if "error" in value and not isinstance(error, dict):
        return Bad(INVALID_REQUEST, "error must be an object")
    return Response(value["id"], value.get("result"), error)


def _is_id(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= _LARGEST_ID
    return isinstance(value, str)


def _trusted_id(value: Dict[str, Any], problems: List[str]) -> Optional[Id]:
    """The id of a refused frame: only of a request, and only if it is one beyond doubt."""
    candidate = value.get("id")
    doubt = "duplicate key 'id'" if isinstance(candidate, int) else ("duplicate key 'id'", "lone surrogate")
    doubtful = any(p.startswith(doubt) for p in problems)
    return candidate if "method" in value and _is_id(candidate) and not doubtful else None


def _key_problem(value: Dict[str, Any]) -> Optional[str]:
    """A key that a reader which ignores case would take for one of ours."""
    for key in value:
        if key not in _KEYS and key.lower() in _KEYS:
            return f"key {key[:80]!r} beside the protocol's own"
    return None


def encode(value: Any) -> bytes:
    """`value` as one line: JSON, no blanks, UTF-8, newline at the end. ValueError or TypeError if it is not JSON.

    A lone surrogate is written as its escape.
    """
    text = dumps(value)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def encode_strict(value: Any, limit_bytes: int) -> bytes:
    """`encode` for a sender of good will: what a strict reader would refuse is a ValueError or TypeError here.

    Refused: NaN, lone surrogates, a line over `limit_bytes`, too deep or too many values.
    """
    text = dumps(value)
    line = text.encode("utf-8")
    if len(line) > limit_bytes:
        raise ValueError(f"{len(line)} bytes of JSON; at most {limit_bytes} are allowed")
    problem = shape_problem(line)
    if problem is not None:
        raise ValueError(problem)
    return line + b"\n"


def request_line(id: Id, method: str, params: Dict[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def notification_line(method: str, params: Dict[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


def result_line(id: Id, result: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "result": result})


def spliced_line(id: Id, raw: bytes) -> bytes:
    """`result_line` with the bytes of a result that was JSON on one line already."""
    return b'{"jsonrpc":"2.0","id":' + encode(id)[:-1] + b',"result":' + raw + b"}\n"


def error_line(id: Optional[Id], code: int, message: str, data: Any = None) -> bytes:
    """`data` is left out where it is None."""
    error = {"code": code, "message": message}
    return encode({"jsonrpc": "2.0", "id": id, "error": error if data is None else {**error, "data": data}})
