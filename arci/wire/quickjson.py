"""JSON by the interpreter's C code alone: `import json` costs 6 ms in each guest, all for a `re` it hardly needs.

Results and refusals are those of `json.loads` and `json.dumps` with the same arguments; it is `json` itself where an
interpreter has no `_json`. Pure.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple, Union

    Pairs = Callable[[List[Tuple[str, Any]]], Any]

try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # not CPython
    make_scanner = None  # type: ignore[assignment,misc]  # its absence is what is asked for below

__all__ = ["dumps", "loads"]

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
    if make_scanner is None:
        import json

        hooks: Dict[str, Any] = {"parse_constant": parse_constant, "parse_float": parse_float}
        return json.loads(text, object_pairs_hook=object_pairs_hook, **hooks)
    text = text.strip(_BLANKS)
    scan = make_scanner(_Context(object_pairs_hook, parse_constant, parse_float))  # type: ignore[arg-type]  # any object with these
    try:
        value, end = scan(text, 0)
    except StopIteration as stop:
        raise ValueError(f"Expecting value: char {stop.value}") from None
    if end != len(text):
        raise ValueError(f"Extra data: char {end}")
    return value


def dumps(value: Any, *, ascii_only: bool = False) -> str:
    """`value` as JSON without blanks. ValueError for NaN, infinity and circles, TypeError for what JSON has not."""
    if make_scanner is None:
        import json

        return json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only, allow_nan=False)
    text = encode_basestring_ascii if ascii_only else encode_basestring
    circles: Dict[int, Any] = {}
    encode = make_encoder(circles, _refuse, text, None, ":", ",", False, False, False)
    return "".join(encode(value, 0))


def _refuse(value: Any) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
