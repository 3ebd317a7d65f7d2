"""What one line of an MCP server is: an answer, a request, a notification, or noise. Pure.

Of an answer that cannot be taken at its word the id is told, if it is beyond doubt: its call need not wait.
"""

from __future__ import annotations

from arci.wire.jsonrpc import Notification, Request, Response
from arci.wire.strict import read_members, shape_problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Union

    from arci.wire.strict import Members

    Read = Union[Response, Request, Notification, "Unclear", "Noise"]

__all__ = ["Noise", "Unclear", "glued_answer", "id_shown", "read_line", "shows_method"]

_KEYS = ("jsonrpc", "id", "method", "params", "result", "error")
_MOST_BRACES = 32
_LONGEST_GLUED = 1 << 20
_TAIL_ENDS = (b'"jsonrpc":"2.0"', b"")


class Unclear:
    """An answer to request `id` that two readers could take differently, or that is none; `detail` says why."""

    __slots__ = ("detail", "id")

    def __init__(self, id: int, detail: str) -> None:
        self.id = id
        self.detail = detail


class Noise:
    """No message."""

    __slots__ = ("detail",)

    def __init__(self, detail: str) -> None:
        self.detail = detail


def read_line(line: bytes) -> Read:
    """Never raises. A `Response` carries the bytes of its result as they came."""
    problem = shape_problem(line)
    if problem is not None:
        id = id_shown(line[:1024], line[-256:])
        return Noise(problem) if id is None else Unclear(id, problem)
    try:
        found = read_members(line)
    except UnicodeDecodeError as error:
        id = id_shown(line[:1024], line[-256:])
        return Noise("not UTF-8") if id is None else Unclear(id, f"not UTF-8: {error.reason}")
    if found.broken is not None:
        return Noise(f"not JSON: {found.broken}")
    return _asked(found) if "method" in found.values else _answer(found)


def _answer(found: Members) -> Read:
    values, id = found.values, _own_id(found.values.get("id"))
    if id is None or "id" in found.doubled:
        return Noise("an answer without an id that was given to it" if "id" in values else "no message")
    problems = [*found.problems, *_other_cases(values)]
    if problems:
        return Unclear(id, "ambiguous: " + "; ".join(problems))
    error = values.get("error")
    if values.get("jsonrpc") != "2.0":
        return Unclear(id, 'jsonrpc must be "2.0"')
    if ("result" in values) == ("error" in values):
        return Unclear(id, "either a result or an error is required")
    if "error" in values and not isinstance(error, dict):
        return Unclear(id, "error must be an object")
    response = Response(id, values.get("result"), error)
    response.raw = found.raw("result") if "result" in values else None
    return response


def _asked(found: Members) -> Read:
    """A request or a notification of the server."""
    values = found.values
    method, params, id = values["method"], values.get("params", {}), values.get("id")
    problems = [*found.problems, *_other_cases(values)]
    if problems:
        return Noise("ambiguous: " + "; ".join(problems))
    if values.get("jsonrpc") != "2.0" or not isinstance(method, str) or not isinstance(params or {}, dict):
        return Noise("neither a request nor a notification")
    if "id" not in values:
        return Notification(method, params or {})
    if isinstance(id, (str, int)) and not isinstance(id, bool):
        return Request(id, method, params or {})
    return Noise("a request whose id is neither a string nor an integer")


def _own_id(id: Any) -> Optional[int]:
    """Ids towards servers are integers; `"1"`, `1.0` and `true` are none of them."""
    return id if isinstance(id, int) and not isinstance(id, bool) else None


def _other_cases(values: Dict[str, Any]) -> List[str]:
    odd = [key for key in values if key not in _KEYS and key.lower() in _KEYS]
    return [f"key {key[:80]!r} beside the protocol's own" for key in odd]


def id_shown(head: bytes, tail: bytes) -> Optional[int]:
    """The id of an answer that is too long or too deep to be read, from its head or else its tail, or None.

    It must stand before everything that is not a plain value, or be the last member but `jsonrpc`.
    """
    found = _members_of(head)
    id = found.values.get("id")
    if "method" in found.values or found.doubled:
        return None
    return _own_id(id) if "id" in found.values else _id_at_end(tail)


def shows_method(head: bytes) -> bool:
    """Whether a line that cannot be read is a request or a notification, so that it answers nothing."""
    return "method" in _members_of(head).values


def _members_of(text: bytes) -> Members:
    """As far as it can be read; what is cut within a character too."""
    return read_members(text.decode("utf-8", "ignore").encode("utf-8"))


def _id_at_end(tail: bytes) -> Optional[int]:
    plain = tail.translate(None, b" \t\r")
    for end in _TAIL_ENDS:
        body, found, digits = plain[: -len(end + b"}")].rpartition(b'"id":')
        digits = digits.rstrip(b",")
        if plain.endswith(end + b"}") and found and digits.isdigit() and len(digits) < 16 and body.endswith(b","):
            return int(digits)
    return None


def glued_answer(line: bytes) -> Optional[int]:
    """The id of an answer that stands within a line which is more than it: output without a line end came before
    or after. None if there is none."""
    if len(line) > _LONGEST_GLUED or b'"jsonrpc"' not in line:
        return None
    at = -1
    for _ in range(_MOST_BRACES):
        at = line.find(b"{", at + 1)
        if at < 0:
            return None
        id = _glued_at(line[at:])
        if id is not None:
            return id
    return None


def _glued_at(text: bytes) -> Optional[int]:
    """An answer that ends the text, or one with all its members and something after it."""
    found = _members_of(text) if shape_problem(text) is None else None
    if found is None or "method" in found.values or found.values.get("jsonrpc") != "2.0":
        return None
    is_answer = "result" in found.values or "error" in found.values
    is_whole = found.broken is None or found.broken.startswith("Extra data")
    return _own_id(found.values.get("id")) if is_answer and is_whole else None
