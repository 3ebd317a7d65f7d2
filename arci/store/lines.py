"""Reading what may be damaged: canonical JSON objects, alone in a file or one per line. Never trusts, never writes."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from arci.model.canonical import canonical

__all__ = ["Line", "open_regular", "parse_object", "read_lines", "read_object"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file: `value`, or what is wrong with it."""

    number: int
    """1-based."""
    value: dict[str, Any] | None
    problem: str = ""
    is_torn: bool = False
    """The last line, without its newline: the write that made it was cut short."""


def parse_object(raw: bytes) -> dict[str, Any]:
    """The object of a line without its newline. ValueError with the reason unless it is exactly its canonical form.

    The comparison of bytes catches what JSON readers forgive: duplicate keys, blanks, other spellings of a number.
    """
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
        if not isinstance(value, dict):
            raise ValueError(f"a JSON {type(value).__name__}; an object is expected")
        if canonical(value) != raw:
            raise ValueError("not in canonical form")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def read_object(path: Path) -> dict[str, Any]:
    """The one object of a file that ends in a newline. ValueError or OSError with the reason."""
    with open_regular(path) as file:
        raw = file.read()
    if not raw.endswith(b"\n"):
        raise ValueError("does not end in a newline: it was cut short")
    return parse_object(raw[:-1])


def read_lines(path: Path) -> Iterator[Line]:
    """Every line, in order; one that cannot be used carries its problem. OSError if the file cannot be opened."""
    with open_regular(path) as file:
        for number, raw in enumerate(file, 1):
            if raw.endswith(b"\n"):
                yield _line(number, raw[:-1])
            else:
                yield Line(number, None, f"torn: its last {len(raw)} bytes have no newline", is_torn=True)


def open_regular(path: Path) -> BinaryIO:
    """The file opened for reading, unless it is no regular file (a pipe would block for ever): OSError."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("not a regular file")
    return path.open("rb")


def _line(number: int, raw: bytes) -> Line:
    try:
        return Line(number, parse_object(raw))
    except ValueError as error:
        return Line(number, None, f"unreadable: {error}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
