"""One YAML document -> a tree of nodes that know their lines. Strict and bounded; pure: bytes in, nodes or notes out.

Built on pyyaml's event stream and not on its constructors: those keep neither lines nor duplicate keys, recurse
without a bound, and resolve by YAML 1.1, where `no` is a boolean and `1e-06` is text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from yaml import events as ev

from arci.manifest.scalars import joined, resolve

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Node", "Note", "Path", "read_yaml"]

MAX_BYTES = 1 << 20
"""Size of a document; longer lists of tasks belong into a JSONL file."""
MAX_DEPTH = 64
MAX_NODES = 100_000
"""Nodes of a document, those that aliases repeat counted each time."""

Path = tuple[str | int, ...]
"""Keys and 0-based positions from the root to a node."""


@dataclass(frozen=True, slots=True)
class Node:
    """`value` is a scalar, a list of nodes, or a dict from key to node. `line` is 1-based; of an entry, its key's."""

    value: Any
    line: int
    size: int = 1
    """Nodes in it, itself included."""
    height: int = 0

    def plain(self) -> Any:
        """The value as JSON-like data. Bounded: the document was."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that is wrong. `line` 0: the document as a whole."""

    line: int
    path: Path
    message: str


class _Stop(Exception):
    """The rest of the document cannot be read; the last note says why."""


def read_yaml(data: bytes) -> tuple[Node | None, list[Note]]:
    """The root node and everything wrong. The root is None where the document could not be read to its end."""
    if len(data) > MAX_BYTES:
        return None, [Note(0, (), f"is {len(data)} bytes long; at most {MAX_BYTES} are allowed.")]
    notes: list[Note] = []
    try:
        text = data.decode("utf-8-sig")
        reader = _Reader(yaml.parse(text, Loader=yaml.SafeLoader), notes)
        return reader.document(), notes
    except UnicodeDecodeError as error:
        notes.append(_not_utf8(data, error))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        notes.append(Note(line, (), f"character U+{ord(text[error.position]):04X} is not allowed in YAML."))
    except yaml.MarkedYAMLError as error:
        notes.append(_syntax(error))
    except (ValueError, OverflowError) as error:  # pyyaml: an escape such as "\U00110000" beyond Unicode
        notes.append(Note(0, (), f"is not valid YAML: {error}."))
    except _Stop:
        pass
    return None, notes


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> Note:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Note(1, (), "is UTF-16; UTF-8 is what this file must be saved as.")
    line = data.count(b"\n", 0, error.start) + 1
    return Note(line, (), f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8; UTF-8 is required.")


def _syntax(error: yaml.MarkedYAMLError) -> Note:
    mark = error.problem_mark or error.context_mark
    context = f"{error.context}: " if error.context else ""
    column = f"column {mark.column + 1}: " if mark else ""
    return Note(mark.line + 1 if mark else 0, (), f"{column}is not valid YAML: {context}{error.problem}.")


class _Reader:
    """Composes nodes from events, noting what is wrong and going on where that is safe."""

    def __init__(self, events: Iterator[Any], notes: list[Note]) -> None:
        self._events = events
        self._notes = notes
        self._anchors: dict[str, Node] = {}
        self._total = 0

    def document(self) -> Node | None:
        next(self._events)  # stream start
        if isinstance(next(self._events), ev.StreamEndEvent):
            self._stop(0, (), "is empty; a mapping is required.")
        root = self._node(next(self._events), (), None)
        next(self._events)  # document end
        following = next(self._events)
        if not isinstance(following, ev.StreamEndEvent):
            self._stop(_line(following), (), "a second document starts here; one is allowed.")
        return root

    def _node(self, event: Any, path: Path, key_line: int | None) -> Node:
        line = key_line or _line(event)
        self._bound(line, path)
        if isinstance(event, ev.AliasEvent):
            return self._alias(event, path, line)
        if isinstance(event, ev.ScalarEvent):
            node = Node(self._scalar(event, path), line)
        elif isinstance(event, ev.SequenceStartEvent):
            self._check_tag(event, "seq", path)
            node = self._sequence(path, line)
        else:
            self._check_tag(event, "map", path)
            node = self._mapping(path, line)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _bound(self, line: int, path: Path, size: int = 1, height: int = 0) -> None:
        self._total += size
        if self._total > MAX_NODES:
            self._stop(line, (), f"more than {MAX_NODES} values (aliases counted each time); that many are allowed.")
        if len(path) + height > MAX_DEPTH:
            self._stop(line, (), f"is nested deeper than {MAX_DEPTH} levels; that many are allowed.")

    def _alias(self, event: Any, path: Path, line: int) -> Node:
        node = self._anchors.get(event.anchor)
        if node is None:
            message = f"alias *{event.anchor} names no anchor that is complete before it; no cycles are allowed."
            self._note(line, path, message)
            return Node(None, line)
        self._bound(line, path, node.size, node.height)
        return Node(node.value, line, node.size, node.height)

    def _sequence(self, path: Path, line: int) -> Node:
        items: list[Node] = []
        while not isinstance(event := next(self._events), ev.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items)), None))
        return _parent(items, items, line)

    def _mapping(self, path: Path, line: int) -> Node:
        entries: dict[str, Node] = {}
        while not isinstance(event := next(self._events), ev.MappingEndEvent):
            key = self._key(event, path)
            node = self._node(next(self._events), (*path, key or "?"), _line(event))
            if key is None:
                continue
            if key in entries:
                first = f"first on line {entries[key].line}"
                self._note(_line(event), path, f"column {_column(event)}: key {key!r} is given twice ({first}); once.")
            else:
                entries[key] = node
        return _parent(entries, list(entries.values()), line)

    def _key(self, event: Any, path: Path) -> str | None:
        """The key, or None for one that was refused (a collection is read over, so that reading can go on)."""
        if not isinstance(event, ev.ScalarEvent):
            self._node(event, (*path, "?"), None)
            self._note(_line(event), path, "a list, mapping or alias is a key here; only text is allowed.")
            return None
        key = self._scalar(event, path)
        if isinstance(key, str) and (key != "<<" or not _is_plain(event)):
            return key
        if key == "<<":
            self._note(_line(event), path, "merge keys (<<) are not supported; write the keys out.")
        else:
            self._note(_line(event), path, f"key {event.value!r} is not text; put it in quotes.")
        return None

    def _scalar(self, event: Any, path: Path) -> Any:
        self._check_tag(event, "str", path)
        try:
            text = joined(event.value)
            return resolve(text) if _is_plain(event) else text
        except ValueError as error:
            self._note(_line(event), path, str(error))
            return None

    def _check_tag(self, event: Any, allowed: str, path: Path) -> None:
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{allowed}"):
            self._note(_line(event), path, f"tag {event.tag!r} is not allowed; write the value without a tag.")

    def _note(self, line: int, path: Path, message: str) -> None:
        self._notes.append(Note(line, path, message))

    def _stop(self, line: int, path: Path, message: str) -> None:
        self._note(line, path, message)
        raise _Stop


def _parent(value: Any, children: list[Node], line: int) -> Node:
    height = 1 + max((child.height for child in children), default=0)
    return Node(value, line, 1 + sum(child.size for child in children), height)


def _is_plain(event: Any) -> bool:
    """True for a scalar without quotes and tag: a tag, even the bare `!`, says that it is text."""
    return bool(event.implicit[0]) and event.tag is None


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _column(event: Any) -> int:
    return int(event.start_mark.column) + 1
