"""JSON by the interpreter's C code alone: `import json` costs 6 ms in each guest, all for a `re` it hardly needs.

Results and refusals are those of `json.loads` and `json.dumps` with the same arguments; it is `json` itself where an
interpreter has no `_json`. Pure.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

    Pairs = Callable[[List[Tuple[str, Any]]], Any]

try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # not CPython
    make_scanner = None  # type: ignore[assignment,misc]  # its absence is what is asked for below

__all__ = ["dumps", "loads", "members"]

_BLANKS = " \t\n\r"
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _Context:
    """What the C scanner reads its settings from."""

    strict = True
    object_hook = None
    parse_int = int

    def __init__(
        self, pairs: Optional[Pairs], constant: Optional[Callable[[str], Any]], number: Optional[Callable[[str], Any]]
    ) -> None:
        self.object_pairs_hook = pairs
        self.parse_constant = constant or _CONSTANTS.__getitem__
        self.parse_float = number or float
        self.memo: Dict[str, str] = {}


def loads(
    text: Union[str, bytes],
    *,
    object_pairs_hook: Optional[Pairs] = None,
    parse_constant: Optional[Callable[[str], Any]] = None,
    parse_float: Optional[Callable[[str], Any]] = None,
) -> Any:
    """The value of one JSON text; bytes are UTF-8. ValueError if it is none, RecursionError if it is too deep."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    text = text.strip(_BLANKS)
    scan = _scanner(object_pairs_hook, parse_constant, parse_float)
    value, end = _scanned(scan, text, 0)
    if end != len(text):
        raise ValueError(f"Extra data: char {end}")
    return value


def members(
    text: str,
    *,
    object_pairs_hook: Optional[Pairs] = None,
    parse_constant: Optional[Callable[[str], Any]] = None,
    parse_float: Optional[Callable[[str], Any]] = None,
) -> Iterator[Tuple[str, Any, int, int]]:
    """The members of one JSON object in their order: key, value, and where in `text` the value begins and ends.

    ValueError where it stops being one object, after the members before that place; RecursionError if it is too deep.
    """
    scan = _scanner(object_pairs_hook, parse_constant, parse_float)
    at = _blank(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError(f"Expecting an object: char {at}")
    at = _blank(text, at + 1)
    if text[at : at + 1] == "}":
        _check_end(text, at + 1)
        return
    while True:
        if text[at : at + 1] != '"':
            raise ValueError(f"Expecting a key: char {at}")
        key, at = _scanned(scan, text, at)
        start = _blank(text, _after(text, _blank(text, at), ":"))
        value, end = _scanned(scan, text, start)
        at = _blank(text, end)
        if text[at : at + 1] == "}":
            yield key, value, start, end
            _check_end(text, at + 1)
            return
        yield key, value, start, end
        at = _blank(text, _after(text, at, ","))


def _scanner(
    pairs: Optional[Pairs], constant: Optional[Callable[[str], Any]], number: Optional[Callable[[str], Any]]
) -> Callable[[str, int], Tuple[Any, int]]:
    """What parses the value at one place of a text: the value, and where it ends."""
    if make_scanner is None:
        import json

        hooks: Dict[str, Any] = {"parse_constant": constant, "parse_float": number}
        slow: Any = json.JSONDecoder(object_pairs_hook=pairs, **hooks)
        scan: Callable[[str, int], Tuple[Any, int]] = slow.scan_once
        return scan
    return make_scanner(_Context(pairs, constant, number))  # type: ignore[arg-type]  # any object with these


def _scanned(scan: Callable[[str, int], Tuple[Any, int]], text: str, at: int) -> Tuple[Any, int]:
    try:
        return scan(text, at)
    except StopIteration as stop:
        raise ValueError(f"Expecting value: char {stop.value}") from None
    except SystemError:  # Python 3.10 and 3.11, where nobody has imported `json.decoder`, whose error it would raise
        raise ValueError(f"Malformed value: char {at}") from None


def _blank(text: str, at: int) -> int:
    """The first place from `at` on that is not blank."""
    while text[at : at + 1] in ("\n", "\r", " ", "\t"):
        at += 1
    return at


def _after(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise ValueError(f"Expecting {mark!r}: char {at}")
    return at + 1


def _check_end(text: str, at: int) -> None:
    if _blank(text, at) != len(text):
        raise ValueError(f"Extra data: char {at}")


def dumps(value: Any, *, ascii_only: bool = False, sort_keys: bool = False) -> str:
    """`value` as JSON without blanks. ValueError for NaN, infinity and circles, TypeError for what JSON has not."""
    if make_scanner is None:
        import json

        blanks = (",", ":")
        return json.dumps(value, separators=blanks, ensure_ascii=ascii_only, allow_nan=False, sort_keys=sort_keys)
    text = encode_basestring_ascii if ascii_only else encode_basestring
    circles: Dict[int, Any] = {}
    encode = make_encoder(circles, _refuse, text, None, ":", ",", sort_keys, False, False)
    return "".join(encode(value, 0))


def _refuse(value: Any) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
