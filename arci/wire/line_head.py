"""What the head of a line that is too long to be read shows of its request, where it shows it beyond doubt. Pure."""

from __future__ import annotations

from arci.wire.quickjson import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Tuple, Union

__all__ = ["LineHead", "read_head"]

_LARGEST_ID = 2**53
_BLANKS = b" \t\r"
_NUMBER = b"-0123456789"


class LineHead:
    """Each is None where the head does not show it. `tool` is the `name` of a `tools/call`."""

    __slots__ = ("id", "method", "tool")

    def __init__(self, id: Optional[Union[int, str]], method: Optional[str], tool: Optional[str]) -> None:
        self.id = id
        self.method = method
        self.tool = tool


def read_head(head: bytes) -> LineHead:
    """`jsonrpc`, `id` and `method` are taken only if they stand before `params`, each once, and are what they must."""
    shown, rest = _members(head)
    if shown is None or shown.get("jsonrpc") != "2.0" or not isinstance(shown.get("method"), str):
        return LineHead(None, None, None)
    id, method = shown.get("id"), shown["method"]
    if not isinstance(id, str) and not (isinstance(id, int) and abs(id) <= _LARGEST_ID):
        id = None
    inner, _ = _members(rest) if method == "tools/call" else (None, b"")
    name = (inner or {}).get("name")
    return LineHead(id, method, name if isinstance(name, str) else None)


def _members(text: bytes) -> Tuple[Optional[Dict[str, Any]], bytes]:
    """The strings and integers that an object begins with, and the text of the first other value.

    None if it is no object or a key comes twice.
    """
    text = text.lstrip(_BLANKS)
    if not text.startswith(b"{"):
        return None, b""
    members: Dict[str, Any] = {}
    text = text[1:].lstrip(_BLANKS)
    while True:
        key, text = _scalar(text)
        text = text.lstrip(_BLANKS)
        if not isinstance(key, str) or not text.startswith(b":"):
            return members, b""
        if key in members:
            return None, b""
        value, after = _scalar(text[1:].lstrip(_BLANKS))
        if value is None:
            return members, text[1:] if key == "params" else b""
        members[key] = value
        text = after.lstrip(_BLANKS)
        if not text.startswith(b","):
            return members, b""
        text = text[1:].lstrip(_BLANKS)


def _scalar(text: bytes) -> Tuple[Optional[Union[str, int]], bytes]:
    """The string or integer that `text` begins with, and what follows; None if it is neither, or cut off."""
    end = _string_end(text) if text.startswith(b'"') else _number_end(text)
    if not 0 < end < len(text):
        return None, text
    try:
        value = loads(text[:end])
    except ValueError:
        return None, text
    return value, text[end:]


def _string_end(text: bytes) -> int:
    end = text.find(b'"', 1)
    while end > 0 and (end - len(text[:end].rstrip(b"\\"))) % 2:
        end = text.find(b'"', end + 1)
    return end + 1


def _number_end(text: bytes) -> int:
    """0 for what is no integer beyond doubt: a fraction or an exponent may follow only where the text goes on."""
    end = len(text) - len(text.lstrip(_NUMBER))
    return end if text[end : end + 1] in (b",", b" ", b"}") else 0
