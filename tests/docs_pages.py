"""The documentation as data: its pages, their fenced blocks and tables, and the `arci` commands that they show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")], key=lambda path: path.as_posix()
)
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`([\w./-]+)`:\n\n\Z")
_INLINE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    name: str | None
    """The file that it is, where the line before it ends with a file's name and a colon."""


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, language: str | None = None) -> list[Block]:
    """The fenced blocks of a page, of one language if given."""
    found = []
    for match in _FENCE.finditer(text):
        named = _NAMED.search(text[: match.start()])
        found.append(Block(match[1], match[2], named[1] if named else None))
    return [block for block in found if language in (None, block.language)]


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", text)


def files(text: str) -> dict[str, str]:
    """Every file that a page shows whole, by its name."""
    return {block.name: block.text for block in blocks(text) if block.name}


def write(directory: Path, shown: dict[str, str]) -> None:
    for name, text in shown.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tables(text: str) -> dict[str, list[list[str]]]:
    """Heading -> the rows of the tables below it, without heads and rules. A bar within code is written `\\|`."""
    found: dict[str, list[list[str]]] = {}
    heading, rows = "", 0
    for line in prose(text).splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if not line.startswith("|"):
            rows = 0
            continue
        rows += 1
        if rows > 2:
            found.setdefault(heading, []).append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def shown_commands(text: str) -> Iterator[list[str]]:
    """Arguments of every whole `arci` command: in shell blocks, indented lines, and the steps of workflows."""
    lines = [line for block in blocks(text, "sh") for line in block.text.splitlines()]
    lines += [line.strip() for line in prose(text).splitlines() if line.startswith("    arci ")]
    lines += re.findall(r"run: (arci .*)", text)
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[:1] == ["arci"]:
            yield words[1:]


def mentioned_commands(text: str) -> Iterator[list[str]]:
    """Arguments of every `arci ...` within prose; what it needs may be left out."""
    for code in _INLINE.findall(prose(text)):
        words = shlex.split(code)
        if words[:1] == ["arci"]:
            yield words[1:]


def mentioned_paths(text: str) -> Iterator[str]:
    """Paths of this repository within prose."""
    for code in _INLINE.findall(prose(text)):
        if re.fullmatch(r"(docs|examples|scripts|tests)/[\w./-]+|arci/[\w./-]+(\.py|/)", code):
            yield code


def links(text: str) -> Iterator[str]:
    """Targets of the links within prose."""
    yield from re.findall(r"\]\(([^)\s]+)\)", prose(text))


def anchors(text: str) -> set[str]:
    """What a link may name after `#`: headings as they are addressed."""
    headings = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
