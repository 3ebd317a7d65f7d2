"""What a plain YAML scalar means in a descriptor: a small, unsurprising subset of the YAML 1.2 core schema. Pure."""

from __future__ import annotations

import math
import re

__all__ = ["Scalar", "joined", "resolve"]

Scalar = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)|NaN|[-+]?Infinity")
_LEAST, _MOST = -(2**63), 2**64 - 1
_LONGEST_INTEGER = 24
"""Digits that any 64-bit integer fits in; longer ones are refused before they are converted."""


def resolve(text: str) -> Scalar:
    """The value of the plain scalar `text`. Raises ValueError with the reason for a person.

    Only `true` and `false` are booleans, `1e-06` is a number, dates and `yes` are text.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a finite number; a finite number, or quotes around the text.")
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _NUMBER.fullmatch(text):
        return _float(text)
    return text


def joined(text: str) -> str:
    r"""`text` with surrogate pairs (JSON writes `😀` as `\ud83d\ude00`) joined. ValueError for a lone surrogate."""
    if not any("\ud800" <= c <= "\udfff" for c in text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError("the text holds half of a surrogate pair; whole Unicode characters are allowed.") from None


def _integer(text: str) -> int:
    if _LEADING_ZERO.fullmatch(text):
        raise ValueError(f"{_short(text)} has a leading zero, which some read as octal; no leading zero, or quotes.")
    if len(text) > _LONGEST_INTEGER or not _LEAST <= (value := int(text, 0)) <= _MOST:
        raise ValueError(f"{_short(text)} does not fit; integers from -2^63 to 2^64-1 are allowed.")
    return value


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{_short(text)} is beyond any double; a finite number is allowed.")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."
