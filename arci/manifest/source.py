"""Where things stand in a descriptor, and findings that become problems with file and line. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arci.errors import Problem
from arci.manifest.strict_yaml import Node, Note, Path

__all__ = ["Finding", "Source", "closest", "dotted", "one_line"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake: the path in the descriptor, what is wrong and what is allowed, and a hint where one helps."""

    path: Path
    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A document that was read. Line 0 means: not from the file but from the command line."""

    name: str
    root: Node | None

    def line(self, path: Path) -> int:
        """Line of the node at `path`, or of the nearest one above it."""
        node = self.root
        line = 1 if node is None else node.line
        for part in path:
            node = _child(node, part)
            if node is None:
                break
            line = node.line
        return line

    def problem(self, finding: Finding) -> Problem:
        line = self.line(finding.path)
        where = f"{self.name}:{line}" if line else "command line"
        return Problem(where, dotted(finding.path), one_line(finding.message), finding.hint and one_line(finding.hint))

    def noted(self, notes: Iterable[Note]) -> list[Problem]:
        """The problems that the YAML reader noted."""
        return [
            Problem(f"{self.name}:{n.line}" if n.line else self.name, dotted(n.path), one_line(n.message))
            for n in notes
        ]


def dotted(path: Path) -> str:
    """`conditions[0].faults[1].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{_key(part)}" if text else _key(part)
    return text


def _key(part: str) -> str:
    text = one_line(part)
    return text if len(text) <= 80 else f"{text[:80]}..."


def one_line(text: str) -> str:
    """`text` with what does not print escaped: a problem is one line, and quotes what may hold anything."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def closest(word: str, allowed: Iterable[str]) -> str | None:
    """`did you mean ...?`, or None where nothing is near."""
    near = difflib.get_close_matches(word, list(allowed), n=1)
    return f"did you mean {near[0]!r}?" if near else None


def _child(node: Node | None, part: str | int) -> Node | None:
    value: Any = None if node is None else node.value
    if isinstance(value, dict) and isinstance(part, str):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        child: Node = value[part]
        return child
    return None
