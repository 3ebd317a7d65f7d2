"""Hostile text made safe to show: no control character on a terminal, no markup in Markdown, no wide line. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["WIDTH", "clip", "code", "columns", "fold", "markdown", "pad", "printable"]

WIDTH = 100
"""Columns of a text report."""
_MARKUP = re.compile(r"[\\`*_{}\[\]<>|#!~&$]")
_LINKS = (("://", ":\\/\\/"), ("www.", "www\\."), ("@", "@&#8203;"))
"""What GitHub makes a link of by itself, and what keeps it from that (a mention is looked for after all escapes)."""
_PLAIN_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/=+,()-]*")


def printable(text: object, keep: str = "") -> str:
    """`text` with everything that is not a visible character written as an escape: controls, terminal sequences,
    line and paragraph separators, marks that turn the direction of writing, lone surrogates. `keep` stays as it is."""
    return "".join(c if c == " " or c.isprintable() or c in keep else _escaped(c) for c in str(text))


def columns(text: str) -> int:
    """How many columns of a terminal printable text takes at most; wide East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clip(text: object, width: int) -> str:
    """Printable, in at most `width` columns, with three dots where something was left out."""
    shown = printable(text)
    if columns(shown) <= width:
        return shown
    return _head(shown, width - 3) + "..."


def pad(text: object, width: int) -> str:
    """Clipped, and filled with blanks to exactly `width` columns."""
    shown = clip(text, width)
    return shown + " " * (width - columns(shown))


def fold(text: object, first: str = "", rest: str = "  ", width: int = WIDTH) -> list[str]:
    """Printable, in lines of at most `width` columns, broken at blanks where there are any. `first` stands before the
    first line, `rest` before the others."""
    lines, line, margin = [], "", first
    for word in _words(printable(text), width - max(columns(first), columns(rest))):
        if line and columns(margin) + columns(line) + 1 + columns(word) > width:
            lines.append(margin + line)
            line, margin = "", rest
        line = f"{line} {word}" if line else word
    return [*lines, margin + line]


def markdown(text: object) -> str:
    """Printable, and plain text wherever it stands in GitHub's Markdown, table cells among the places."""
    shown = _MARKUP.sub(r"\\\g<0>", printable(text)).replace("\\<", "&lt;").replace("\\&", "&amp;")
    for mark, harmless in _LINKS:
        shown = shown.replace(mark, harmless)
    return shown


def code(text: object) -> str:
    """As a code span if it holds nothing that could end one or a table cell, else as plain text."""
    shown = printable(text)
    return f"`{shown}`" if _PLAIN_CODE.fullmatch(shown) else markdown(text)


def _escaped(character: str) -> str:
    number = ord(character)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _words(text: str, width: int) -> Iterator[str]:
    """Words, those that fit no line in pieces."""
    for word in text.split(" "):
        rest = word
        while columns(rest) > width:
            piece = _head(rest, width)
            yield piece
            rest = rest[len(piece) :]
        yield rest


def _head(text: str, width: int) -> str:
    end, taken = 0, 0
    for character in text:
        taken += columns(character)
        if taken > width:
            break
        end += 1
    return text[:end]
