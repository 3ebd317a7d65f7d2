"""Forms of secrets between whose characters something may stand: line ends where a text is wrapped, backslashes where
it is quoted within quotes, however often. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from arci.run.torn import overlap

__all__ = ["QUOTED", "WRAPPED", "Gap", "LooseForms"]

_TELLING = 8
"""So many characters at a cut are no coincidence; fewer, with a line end among them, are ordinary lines."""
_MOST_LONGER = 4
"""A form is looked for at a cut within so many times its length."""


class Gap:
    """What may stand between two characters; also with the bytes in the opposite order."""

    def __init__(self, pattern: bytes, backwards: bytes, signs: tuple[bytes, ...]) -> None:
        """`signs`: without any of these in a text there is no gap in it."""
        self._patterns = {False: re.compile(pattern), True: re.compile(backwards)}
        self._signs = signs
        self.between = b"(?:%s)*" % pattern

    def is_in(self, data: bytes) -> bool:
        return any(sign in data for sign in self._signs)

    def left_out(self, data: bytes, *, backwards: bool = False) -> bytes:
        """`data` without its gaps."""
        return self._patterns[backwards].sub(b"", data)

    def places(self, data: bytes, *, backwards: bool) -> list[int]:
        """Where the bytes stand that belong to no gap."""
        in_gaps = {at for found in self._patterns[backwards].finditer(data) for at in range(*found.span())}
        return [at for at in range(len(data)) if at not in in_gaps]


WRAPPED = Gap(rb"\s|\\(?:[rn]|\Z)", rb"\s|[rn]\\", (b"\n", b"\r", b"\\"))
"""Line ends and indentation, also as escapes within a JSON text."""
QUOTED = Gap(rb"\\", rb"\\", (b"\\",))


class LooseForms:
    """Forms, without any gap in themselves, and the secrets that they are of."""

    def __init__(self, names: Mapping[bytes, str], gap: Gap) -> None:
        self._names = names
        self._gap = gap
        self._patterns: dict[bytes, re.Pattern[bytes]] = {}

    def found(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """From, to, and whose secret. A search for fixed bytes comes first: it costs a fraction of a pattern's."""
        if not self._names or not self._gap.is_in(data):
            return
        thin = self._gap.left_out(data)
        for form in [form for form in self._names if form in thin]:
            for found in self._pattern(form).finditer(data):
                yield *found.span(), self._names[form]

    def torn(self, data: bytes, *, backwards: bool = False) -> int:
        """With how many bytes, gaps included, `data` ends that may be the beginning of a form.

        `backwards`: data is in the opposite order, and so the end of a form is looked for.
        """
        most = 0
        for form in self._names:
            tail = data[-_MOST_LONGER * len(form) :]
            if self._gap.is_in(tail):
                sought = form[::-1] if backwards else form
                size = overlap(self._gap.left_out(tail, backwards=backwards), sought, _TELLING)
                if size:
                    most = max(most, len(tail) - self._gap.places(tail, backwards=backwards)[-size])
        return most

    def _pattern(self, form: bytes) -> re.Pattern[bytes]:
        if form not in self._patterns:
            self._patterns[form] = re.compile(self._gap.between.join(re.escape(bytes([byte])) for byte in form))
        return self._patterns[form]
