"""Reading JSON from people who may be hostile: shape scanned before parsing, ambiguity reported. Pure."""

from __future__ import annotations

from arci.wire.quickjson import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

__all__ = ["MAX_CONTAINERS", "MAX_DEPTH", "MAX_STRINGS", "read", "shape_problem"]

MAX_DEPTH = 128
MAX_CONTAINERS = 200_000
"""Arrays and objects in one frame: parsing 8 MiB of brackets would cost 230 MiB."""
MAX_STRINGS = 1_000_000

_OPENING = b"[{"
_NOT_BRACKETS = bytes(b for b in range(256) if b not in b"[]{}")


def shape_problem(line: bytes) -> Optional[str]:
    """Why `line` must not be parsed (nested too deep, too many values), or None. Costs no memory of its shape."""
    if line.count(b'"') > 2 * MAX_STRINGS:
        return f"more than {MAX_STRINGS} strings in one frame"
    if _opening(line) <= MAX_DEPTH:
        return None  # it cannot be deeper than it has brackets
    brackets = _brackets(line)
    if _opening(brackets) > MAX_CONTAINERS:
        return f"more than {MAX_CONTAINERS} arrays and objects in one frame"
    if _is_deeper(brackets, MAX_DEPTH):
        return f"nested deeper than {MAX_DEPTH} levels"
    return None


def _opening(line: bytes) -> int:
    return line.count(b"[") + line.count(b"{")


def _brackets(line: bytes) -> bytes:
    """The brackets of `line` that stand outside strings."""
    plain = line.replace(b"\\\\", b"").replace(b'\\"', b"")  # pairs from the left, as a parser reads them
    return b"".join(plain.split(b'"')[::2]).translate(None, _NOT_BRACKETS)


def _is_deeper(brackets: bytes, limit: int) -> bool:
    depth = 0
    for bracket in brackets:
        if bracket in _OPENING:
            depth += 1
            if depth > limit:
                return True
        else:
            depth -= 1
    return False


class _Reader:
    """The hooks of one parse; collects what two readers of the same text could take differently."""

    __slots__ = ("problems",)

    def __init__(self) -> None:
        self.problems: List[str] = []

    def pairs(self, pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            seen = set()
            for key, _ in pairs:
                if key in seen:
                    self._note(f"duplicate key {key[:80]!r}")
                seen.add(key)
        return value

    def constant(self, text: str) -> float:
        self._note(f"{text} is not JSON")
        return float(text)

    def number(self, text: str) -> float:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            self._note(f"number {text[:40]} is beyond the range of a double")
        return value

    def _note(self, problem: str) -> None:
        if len(self.problems) < 10:
            self.problems.append(problem)


def read(line: bytes) -> Tuple[Any, List[str]]:
    """The value of one JSON text and what is ambiguous in it: duplicate keys, NaN, 1e400, lone surrogates.

    Raises ValueError with a short reason if it is no JSON or no UTF-8. Scan its shape first.
    """
    text = line.decode("utf-8")
    reader = _Reader()
    value = loads(text, object_pairs_hook=reader.pairs, parse_constant=reader.constant, parse_float=reader.number)
    if ("\\ud" in text or "\\uD" in text) and _has_lone_surrogate(value):
        reader.problems.append("lone surrogate in a string")
    return value, reader.problems


def _has_lone_surrogate(value: Any) -> bool:
    try:
        dumps(value).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
