"""JSON from people and other programs: no duplicate keys, no NaN, bounded depth. Pure."""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["parse_json"]


def parse_json(data: bytes, *, max_depth: int) -> Any:
    """The value. ValueError with the reason for anything that JSON, or this project, does not allow."""
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise ValueError(f"byte at offset {error.start} is not UTF-8; UTF-8 is required.") from None
    except RecursionError:
        raise ValueError(f"is nested deeper than {max_depth} levels; that many are allowed.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    _check_depth(value, max_depth)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a text holds half of a surrogate pair; whole Unicode characters are allowed.") from None
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} is given twice; once.")
    return value


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not a finite number; a finite number is required.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is beyond any double; a finite number is required.")
    return value


def _check_depth(value: Any, max_depth: int) -> None:
    level, depth = [value], 0
    while level:
        if depth > max_depth:
            raise ValueError(f"is nested deeper than {max_depth} levels; that many are allowed.")
        children = [v for v in level if isinstance(v, (dict, list))]
        level = [c for v in children for c in (v.values() if isinstance(v, dict) else v)]
        depth += 1
