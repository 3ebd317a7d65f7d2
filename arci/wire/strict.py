"""Reading JSON from people who may be hostile: shape scanned before parsing, ambiguity reported. Pure."""

from __future__ import annotations

from arci.wire.quickjson import loads, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

__all__ = ["MAX_CONTAINERS", "MAX_DEPTH", "MAX_STRINGS", "Members", "read", "read_members", "shape_problem"]

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


class Members:
    """One JSON object, read member by member: what is known of it even where the rest is no JSON."""

    __slots__ = ("broken", "doubled", "problems", "spans", "text", "values")

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: Dict[str, Any] = {}  # of a key that stands twice, the last
        self.spans: Dict[str, Tuple[int, int]] = {}
        self.doubled: List[str] = []
        """Keys of the object itself that stand in it twice."""
        self.problems: List[str] = []
        """What is ambiguous in it, at any depth."""
        self.broken: Optional[str] = None
        """Why it is no JSON object from some place on."""

    def raw(self, key: str) -> bytes:
        """The bytes of a member's value, exactly as they came."""
        start, end = self.spans[key]
        return self.text[start:end].encode("utf-8")


def read_members(line: bytes) -> Members:
    """One object, its ambiguities told as `read` does. UnicodeDecodeError if it is no UTF-8. Scan its shape first."""
    text = line.decode("utf-8")
    reader, found = _Reader(), Members(text)
    hooks = {"object_pairs_hook": reader.pairs, "parse_constant": reader.constant, "parse_float": reader.number}
    try:
        for key, value, start, end in members(text, **hooks):  # type: ignore[arg-type]  # each hook is of its own type
            if key in found.values:
                found.doubled.append(key)
                reader.problems.append(f"duplicate key {key[:80]!r}")
            found.values[key], found.spans[key] = value, (start, end)
    except (ValueError, RecursionError) as error:
        found.broken = f"{error}"[:200]
    if ("\\ud" in text or "\\uD" in text) and _has_lone_surrogate(found.values):
        reader.problems.append("lone surrogate in a string")
    found.problems = reader.problems
    return found


def _has_lone_surrogate(value: Any) -> bool:
    """Not by writing it as JSON: that refuses NaN and infinity, which are to be told too."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            try:
                one.encode("utf-8")
            except UnicodeEncodeError:
                return True
        elif isinstance(one, dict):
            waiting += one.keys()
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return False
