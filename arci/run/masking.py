"""Values of declared secrets out of everything that is kept, in the forms in which programs show them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from arci.errors import ArciError, SpecError
from arci.run.loose_forms import QUOTED, WRAPPED, LooseForms
from arci.run.secret_forms import SHORTEST_PIECE, data_of, encoded_forms, plain_forms
from arci.run.torn import overlap

__all__ = ["SHORTEST_SECRET", "Masks", "masked_errors"]

SHORTEST_SECRET = 4
"""Characters. Shorter values are not masked: they would be found in everything, and preflight says so."""
_PLAIN = re.compile(rb"[A-Za-z0-9_-]*")
"""No quoting puts anything into such a value."""

_Span = tuple[int, int, str]
"""Where a secret stands, from and to, and its name."""


class Masks:
    """Replaces each form of each secret value by `<secret:NAME>`."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """`values`: name of the declared host variable -> its value."""
        self._values: dict[str, str] = {}
        self._names: dict[bytes, str] = {}
        wrapped: dict[bytes, str] = {}
        quoted: dict[bytes, str] = {}
        for name, value in values.items():
            if len(value) < SHORTEST_SECRET:
                continue
            self._values.setdefault(value.strip(), name)
            plain, encoded = _all_bytes(plain_forms(value)), _all_bytes(encoded_forms(value))
            for form in plain + encoded:
                self._names.setdefault(form, name)
            for form in encoded:
                wrapped.setdefault(form, name)
            for form in _all(QUOTED.left_out(form) for form in plain if not _PLAIN.fullmatch(form)):
                quoted.setdefault(form, name)
        self._loose = (LooseForms(wrapped, WRAPPED), LooseForms(quoted, QUOTED))
        long = [form for form in self._names if len(form) > SHORTEST_PIECE]
        self._pieces = [(form, form[:SHORTEST_PIECE], form[-SHORTEST_PIECE:]) for form in long]
        self._longest = max(map(len, long), default=1)

    def text(self, text: str) -> str:
        """`text` without any secret, nor a piece of one, of eight characters or more, with which it begins or ends."""
        if not self._names:
            return text
        data = text.encode("utf-8", "surrogatepass")
        masked = self._replace(data, lambda name, size: _mark(name))
        masked = self._without_pieces(masked)
        if masked is data:
            return text
        try:
            return masked.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # a value that is no text was found in the middle of a character
            return masked.decode("utf-8", "replace")

    def value(self, value: Any) -> Any:
        """A JSON value without any secret in its strings, keys included; containers are copied. A number that is a
        secret becomes text."""
        if not self._names:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool) and str(value) in self._values:
            return f"<secret:{self._values[str(value)]}>"
        return value

    def output(self, data: bytes) -> bytes:
        """Output of a guest with an asterisk for each byte of a secret: its length stays exact."""
        return self._replace(data, lambda name, size: b"*" * size)

    def before_cut(self, head: bytes) -> bytes:
        """As `output`, and without the beginning of a secret that the cut at the end of `head` has torn."""
        masked = self.output(head)
        torn = self.torn(masked)
        return masked[: len(masked) - torn] + b"*" * torn

    def torn(self, masked: bytes) -> int:
        """With how many bytes `masked` ends that may be the beginning of a secret."""
        plain = max((overlap(masked, form) for form in self._names), default=0)
        return max(plain, *(loose.torn(masked) for loose in self._loose))

    def after_cut(self, tail: bytes) -> bytes:
        """As `output`, and without the rest of a secret that the cut at the start of `tail` has torn."""
        masked = self.output(tail)
        backwards = masked[::-1]
        torn = max((overlap(backwards, form[::-1]) for form in self._names), default=0)
        torn = max(torn, *(loose.torn(backwards, backwards=True) for loose in self._loose))
        return b"*" * torn + masked[torn:]

    def _replace(self, data: bytes, put: Callable[[str, int], bytes]) -> bytes:
        """`data` itself where there is nothing to replace."""
        spans = _merged(self._found(data))
        if not spans:
            return data
        parts, at = [], 0
        for start, end, name in spans:
            parts += [data[at:start], put(name, end - start)]
            at = end
        return b"".join([*parts, data[at:]])

    def _found(self, data: bytes) -> Iterator[_Span]:
        for form, name in self._names.items():
            at = data.find(form)
            while at >= 0:
                yield at, at + len(form), name
                at = data.find(form, at + len(form))
        for loose in self._loose:
            yield from loose.found(data)

    def _without_pieces(self, data: bytes) -> bytes:
        """Text is cut to a size by those who know of no secret."""
        ending, form = max(((overlap(data, f, SHORTEST_PIECE), f) for f in self._begun(data)), default=(0, b""))
        if ending:
            data = data[: len(data) - ending] + _mark(self._names[form])
        start = data[: self._longest]
        candidates = [form for form, _, last in self._pieces if last in start]
        backwards = start[::-1]
        beginning, form = max(((overlap(backwards, f[::-1], SHORTEST_PIECE), f) for f in candidates), default=(0, b""))
        return _mark(self._names[form]) + data[beginning:] if beginning else data

    def _begun(self, data: bytes) -> list[bytes]:
        tail = data[-self._longest :]
        return [form for form, first, _ in self._pieces if first in tail]


@contextmanager
def masked_errors(masks: Masks) -> Iterator[None]:
    """What is raised within, for a person to read, holds no secret: guests' own words are in some of it."""
    try:
        yield
    except ArciError as error:
        error.message = masks.text(error.message)
        error.hint = None if error.hint is None else masks.text(error.hint)
        error.args = (error.message,)
        for problem in error.problems if isinstance(error, SpecError) else ():
            problem.message = masks.text(problem.message)
            problem.hint = None if problem.hint is None else masks.text(problem.hint)
        raise


def _mark(name: str) -> bytes:
    return b"<secret:%s>" % name.encode("utf-8", "surrogatepass")


def _merged(spans: Iterator[_Span]) -> list[_Span]:
    """In order, those that overlap as one: of two secrets that share characters nothing is left over."""
    merged: list[_Span] = []
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first, last, by = merged[-1]
            merged[-1] = (first, max(last, end), by)
        else:
            merged.append((start, end, name))
    return merged


def _all_bytes(forms: Iterable[str]) -> list[bytes]:
    """As they stand in a text, and as they stand in output: not the same where a value is no UTF-8."""
    return _all(raw for form in forms for raw in (form.encode("utf-8", "surrogatepass"), data_of(form)))


def _all(forms: Iterable[bytes]) -> list[bytes]:
    """Each once, in the same order every time; those that are too short to be looked for are left out."""
    return sorted({form for form in forms if len(form) >= SHORTEST_SECRET})
