"""Text made safe within an HTML page, and the few elements that every part of the page is made of. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from arci.report.escape import clip, printable

__all__ = ["CELL", "code", "element", "lines_said", "row", "said", "table"]

CELL = 300
"""Columns of hostile text that one place shows; the rest is left out with three dots."""
_LOOKED_AT = 4 * CELL
"""Characters that are looked at: a text may be megabytes."""


def said(text: object, width: int = CELL) -> str:
    """Hostile text as the content of an element or of a quoted attribute: one line, clipped, nothing of it markup,
    controls and marks that turn the direction of writing as escapes."""
    return escape(clip(str(text)[: max(_LOOKED_AT, width + 1)], width))


def code(text: object, width: int = CELL) -> str:
    """The same in a monospaced font."""
    return f"<code>{said(text, width)}</code>"


def lines_said(text: str) -> str:
    """Hostile lines as the content of `<pre>`: line ends and tabs are kept. Its length is the caller's to bound."""
    return escape(printable(text.replace("\r\n", "\n"), keep="\n\t"))


def element(name: str, content: str, **attributes: str) -> str:
    """An element around content that is HTML already. Values of attributes are escaped; `class_` is `class`."""
    told = "".join(f' {key.rstrip("_").replace("_", "-")}="{said(value)}"' for key, value in attributes.items())
    return f"<{name}{told}>{content}</{name}>"


def row(head: str, *cells: str) -> str:
    """A row with a head; all of it is HTML already."""
    return f'<tr><th scope="row">{head}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>\n'


def table(caption: str, heads: Sequence[str], rows: Iterable[str], class_: str = "") -> str:
    """A table of rows with a caption and column heads; all of it is HTML already."""
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    kind = f' class="{class_}"' if class_ else ""
    return (
        f"<table{kind}><caption>{caption}</caption>\n"
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody></table>\n"
    )
