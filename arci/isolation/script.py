"""Tiny guest programs as data: what a guest prints, reads, writes and how it ends.

`render` turns a script into an argv for a back end that runs processes; the fake interprets the same data. So one check
or test says what a guest does once, and runs everywhere. Pure.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

__all__ = [
    "Die",
    "Echo",
    "Environment",
    "Exit",
    "Hold",
    "Link",
    "ListDirectory",
    "Listen",
    "OnTerm",
    "Operation",
    "Orphans",
    "Pattern",
    "Print",
    "Python",
    "ReadFile",
    "Script",
    "Sleep",
    "Spawn",
    "WaitFor",
    "WriteFile",
    "pattern",
    "render",
    "rendered",
]


@dataclass(frozen=True, slots=True)
class Print:
    """Write `data`, repeated `times`, to a stream (`stdout`, `stderr`)."""

    data: bytes
    stream: str = "stdout"
    times: int = 1


@dataclass(frozen=True, slots=True)
class Pattern:
    """Write the first `size` bytes of `pattern` to a stream."""

    size: int
    stream: str = "stdout"


@dataclass(frozen=True, slots=True)
class Echo:
    """Write to stdout what comes on stdin, until its end."""


@dataclass(frozen=True, slots=True)
class Sleep:
    seconds: float


@dataclass(frozen=True, slots=True)
class Exit:
    """End this process with `code`. A script that runs out ends with 0."""

    code: int


@dataclass(frozen=True, slots=True)
class Die:
    """End by signal `number`, sent to itself."""

    number: int


@dataclass(frozen=True, slots=True)
class OnTerm:
    """From now on run `script` on SIGTERM. An empty one ignores the signal; any other must end with `Exit`."""

    script: Script


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Write a file of `data` repeated `times`, and the directories above it.

    A relative path is below `ARCI_WORKDIR`, or else where the guest starts; `$HOME` and `$TMPDIR` expand.
    """

    path: str
    data: bytes
    times: int = 1


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Print a file's content, or `missing`."""

    path: str


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Go on when a file exists: how processes of one guest wait for each other."""

    path: str


@dataclass(frozen=True, slots=True)
class Link:
    """Make a symbolic link `path` to `target`."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class ListDirectory:
    """Print the names in a directory, sorted, one a line."""

    path: str = "."


@dataclass(frozen=True, slots=True)
class Environment:
    """Print the environment as a JSON object."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """Run `script` in a child and go on.

    `detached`: double-forked, in a session of its own. `quiet`: it does not hold the streams.
    """

    script: Script
    detached: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Orphans:
    """Double-fork `count` children that end at once, one after another, then print `made <count>`."""

    count: int


@dataclass(frozen=True, slots=True)
class Listen:
    """Serve a Unix socket until stdin ends.

    Prints `listening`, then for each connection `open NAME` (its first line), `heard LINE` for more, and `closed NAME`.
    It answers each with its name; `half_closes`: and says no more to it, but listens on.
    """

    address: str
    half_closes: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    """Connect to a `Listen`, say `name`, print `held NAME` when it answered, and keep the connection for life."""

    address: str
    name: str


@dataclass(frozen=True, slots=True)
class Python:
    """Run Python source with `put(data)` in scope. Real back ends alone; the fake refuses it."""

    source: str


Operation: TypeAlias = (
    Print
    | Pattern
    | Echo
    | Sleep
    | Exit
    | Die
    | OnTerm
    | WriteFile
    | ReadFile
    | WaitFor
    | Link
    | ListDirectory
    | Environment
    | Spawn
    | Orphans
    | Listen
    | Hold
    | Python
)
Script: TypeAlias = tuple[Operation, ...]

_NAMES: dict[str, type[Operation]] = {
    "print": Print,
    "pattern": Pattern,
    "echo": Echo,
    "sleep": Sleep,
    "exit": Exit,
    "die": Die,
    "on_term": OnTerm,
    "write": WriteFile,
    "read": ReadFile,
    "wait_for": WaitFor,
    "link": Link,
    "list": ListDirectory,
    "environment": Environment,
    "spawn": Spawn,
    "orphans": Orphans,
    "listen": Listen,
    "hold": Hold,
    "python": Python,
}
_KINDS = {kind: name for name, kind in _NAMES.items()}


def pattern(size: int) -> bytes:
    """`size` bytes in which every place tells its own offset: 8-byte big-endian counters."""
    return b"".join(i.to_bytes(8, "big") for i in range((size + 7) // 8))[:size]


def render(script: Script, python: str = "python3") -> tuple[str, ...]:
    """The argv that runs `script` under any Python 3.9+ named `python`, without site-packages and without files.

    A system takes 128 KiB for one argument (Linux), so large data are written as `Pattern` or with `times`.
    """
    return (python, "-I", "-S", "-c", _guest_source(), json.dumps(_encoded(script)))


def rendered(argv: tuple[str, ...]) -> Script | None:
    """The script that `render` made `argv` of; None for any other argv."""
    if len(argv) != 6 or argv[4] != _guest_source():
        return None
    return _decoded(json.loads(argv[5]))


@functools.cache
def _guest_source() -> str:
    return Path(__file__).with_name("script_guest.py").read_text("utf-8")


def _encoded(script: Script) -> list[Any]:
    return [[_KINDS[type(op)], {f.name: _plain(getattr(op, f.name)) for f in fields(op)}] for op in script]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return _encoded(value) if isinstance(value, tuple) else value


def _decoded(items: list[Any]) -> Script:
    return tuple(_operation(name, values) for name, values in items)


def _operation(name: str, values: dict[str, Any]) -> Operation:
    kind = _NAMES[name]
    if "data" in values:
        values = {**values, "data": values["data"].encode("latin-1")}
    if "script" in values:
        values = {**values, "script": _decoded(values["script"])}
    return kind(**values)
