"""A trial told while it goes on, line by line: `agent    | what it printed`, and the recorder's events as its trace.

A witness (`run.witness`) that writes through a callable; what it is shown has been masked. Never judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from arci.report.escape import printable
from arci.report.trial import render_event

__all__ = ["LONGEST_BYTES", "Teller"]

LONGEST_BYTES = 4096
"""Of a longer line the beginning is told."""
_WIDTH = 8
_GRADE = b'{"type":"grade",'
"""How a grader of ours answers, which the record tells better."""


class Teller:
    """`say` is given each line, without an end; stderr of a guest is marked `!`. Lines of the trace are cut at `width`
    columns (None: whole)."""

    def __init__(self, say: Callable[[str], None], width: int | None = None) -> None:
        self._say = say
        self._width = None if width is None else width - _WIDTH - len(" | ")
        self._lines: dict[tuple[str, str], _Lines] = {}

    def output(self, guest: str, stream: str, data: bytes) -> None:
        lines = self._lines.setdefault((guest, stream), _Lines())
        for line in lines.feed(data):
            if not line.startswith(_GRADE):
                self._tell(guest, stream, line)

    def event(self, event: Mapping[str, Any]) -> None:
        self._say(f"{'trace':<{_WIDTH}} | {render_event(event, self._width)}")

    def close(self) -> None:
        """Tell what had no end of line. Call it when the trial is over."""
        for (guest, stream), lines in self._lines.items():
            for line in lines.close():
                self._tell(guest, stream, line)

    def _tell(self, guest: str, stream: str, line: bytes) -> None:
        text = printable(line.decode("utf-8", "backslashreplace"), keep="\t")
        self._say(f"{guest:<{_WIDTH}} {'!' if stream == 'stderr' else '|'} {text}")


class _Lines:
    """One stream cut into lines, in bounded memory."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_skipping = False
        """The beginning of this line was told, the rest is dropped."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that `data` completes, without their ends; the beginning of one that grows too long."""
        *complete, rest = (self._rest + data).split(b"\n")
        self._rest = b""
        for line in complete:
            if not self._is_skipping:
                yield _shown(line.removesuffix(b"\r"))
            self._is_skipping = False
        if self._is_skipping:
            return
        if len(rest) > LONGEST_BYTES:
            self._is_skipping = True
            yield _shown(rest)
        else:
            self._rest = rest

    def close(self) -> Iterator[bytes]:
        if self._rest:
            yield self._rest
        self._rest = b""


def _shown(line: bytes) -> bytes:
    return line if len(line) <= LONGEST_BYTES else line[:LONGEST_BYTES] + b" ..."
