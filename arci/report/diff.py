"""Where two traces part, as plain text side by side: no control character, at most 100 columns. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from arci.diagnose.check import Agreement, Compared
from arci.diagnose.diff import Divergence, Side
from arci.errors import StoreError
from arci.report.diff_words import StepWords, difference_at, injection_words, parting_words, step_words
from arci.report.escape import WIDTH, clip, fold, pad

__all__ = ["render_check", "render_diff", "side_by_side"]

_NUMBER = 6
_CELL = (WIDTH - _NUMBER - 5) // 2
_CONTEXT_LINES, _PARTING_LINES = 2, 8
"""Lines that one step may take: a step of the context, and the one at which they part."""
_MOST_CHARS = _CELL * _PARTING_LINES
"""Of a step that are looked at: values may be megabytes."""


def render_diff(found: Divergence, a_record: Mapping[str, Any], b_record: Mapping[str, Any]) -> str:
    """The divergence of two trials as text, ended by a newline."""
    lines = [*_heads(found, a_record, b_record), *_told(found), "", *side_by_side(found)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def render_check(agreement: Agreement, compared: Compared | None, error: StoreError | None) -> str:
    """What an exact comparison says, and where they part or why nothing could be compared; ended by a newline."""
    if compared is None:
        return "\n".join(fold(f"{agreement}: {error}")) + "\n"
    told = render_diff(compared.divergence, compared.a.record, compared.b.record)
    return f"{agreement}\n{told}" if not compared.divergence.is_same else f"{agreement}\n{_same(compared.divergence)}\n"


def _same(found: Divergence) -> str:
    return "\n".join(fold(f"{found.a.trial_id} and {found.b.trial_id}: {parting_words(found)}"))


def side_by_side(found: Divergence) -> Iterator[str]:
    """The kept steps in two columns, numbered from 1; `>` marks where they part, `!` what a fault did."""
    yield _row("", found.a.trial_id, found.b.trial_id)
    for offset in range(max(len(found.a.steps), len(found.b.steps))):
        number = found.first + offset
        is_parting = number == found.index
        most = _PARTING_LINES if is_parting else _CONTEXT_LINES
        cells = [_cell(found, side, offset, most) for side in (found.a, found.b)]
        for line, (left, right) in enumerate(zip_longest(*cells, fillvalue="")):
            mark = ">" if is_parting else " "
            yield _row(f"{mark}{number + 1:>4}" if line == 0 else "", left, right)


def _heads(found: Divergence, a_record: Mapping[str, Any], b_record: Mapping[str, Any]) -> Iterator[str]:
    for side, record in ((found.a, a_record), (found.b, b_record)):
        how = f"{record.get('outcome')} ({record.get('ending')}), {side.count} comparable steps"
        yield from fold(f"{side.trial_id}: {how}")


def _told(found: Divergence) -> Iterator[str]:
    yield from fold(parting_words(found))
    differs = difference_at(found)
    if differs is not None:
        yield from fold(f"{differs.path or 'the step'}: {differs.a}", "  ", "      ")
        yield from fold(f"against {differs.b}", "  ", "      ")
    before = "before that" if found.index is not None else "in it"
    told = [injection_words(s.last_injection) if s.last_injection else "none" for s in (found.a, found.b)]
    if told[0] == told[1]:
        yield from fold(f"last injection {before}: {told[0]}")
    else:
        yield from fold(f"last injection {before}: {told[0]} against {told[1]}")


def _cell(found: Divergence, side: Side, offset: int, most: int) -> list[str]:
    if offset >= len(side.steps):
        return ["(ended)"] if found.first + offset == side.count else []
    words = step_words(side.steps[offset])
    lines = _folded(words, most)
    return lines if len(lines) <= most else [*lines[: most - 1], f"{clip(lines[most - 1], _CELL - 4)} ..."]


def _folded(words: StepWords, most: int) -> list[str]:
    """In a cell's width. What made an answer is told in at most `most` lines, as far as its body can give way."""
    first = "! " if words.is_injected else "  "
    for room in range(most * _CELL, len(words.head) + len(words.tail), -4):
        lines = fold(f"{words.kind} {words.rest(room)}"[:_MOST_CHARS].rstrip(), first, "    ", _CELL)
        if len(lines) <= most or not words.tail:
            return lines
    return fold(words.line[:_MOST_CHARS], first, "    ", _CELL)


def _row(number: str, left: str, right: str) -> str:
    return f"{pad(number, _NUMBER)} {pad(left, _CELL)} | {pad(right, _CELL)}"
