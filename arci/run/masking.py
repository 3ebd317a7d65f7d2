"""Values of declared secrets out of everything that is kept: plain, base64, URL-encoded and JSON-escaped. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, quote_plus

__all__ = ["SHORTEST_SECRET", "Masks"]

SHORTEST_SECRET = 4
"""Characters. Shorter values are not masked: they would be found in everything, and preflight says so."""
_SHORTEST_PIECE = 8
"""Shorter pieces of a base64 text are not looked for."""


class Masks:
    """Replaces each form of each secret value by `<secret:NAME>`."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """`values`: name of the declared host variable -> its value."""
        self._names: dict[str, str] = {}
        for name, value in values.items():
            if len(value) >= SHORTEST_SECRET:
                for form in _forms(value):
                    self._names.setdefault(form, name)
        longest_first = sorted(self._names, key=lambda form: (-len(form), form))
        self._text = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._byte_forms = [form.encode("utf-8", "surrogateescape") for form in longest_first]
        self._bytes = re.compile(b"|".join(map(re.escape, self._byte_forms)))

    def text(self, text: str) -> str:
        """`text` without any secret."""
        if self._text is None:
            return text
        return self._text.sub(lambda found: f"<secret:{self._names[found.group()]}>", text)

    def value(self, value: Any) -> Any:
        """A JSON value without any secret in its strings, keys included; containers are copied."""
        if self._text is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value

    def output(self, data: bytes) -> bytes:
        """Output of a guest with an asterisk for each byte of a secret: its length stays exact."""
        if self._text is None:
            return data
        return self._bytes.sub(lambda found: b"*" * len(found.group()), data)

    def before_cut(self, head: bytes) -> bytes:
        """As `output`, and without the beginning of a secret that the cut at the end of `head` has torn."""
        masked = self.output(head)
        torn = self.torn(masked)
        return masked[: len(masked) - torn] + b"*" * torn

    def torn(self, masked: bytes) -> int:
        """With how many bytes `masked` ends that may be the beginning of a secret."""
        return max((_overlap(masked, form) for form in self._byte_forms), default=0)

    def after_cut(self, tail: bytes) -> bytes:
        """As `output`, and without the rest of a secret that the cut at the start of `tail` has torn."""
        masked = self.output(tail)
        torn = max((_overlap(masked[::-1], form[::-1]) for form in self._byte_forms), default=0)
        return b"*" * torn + masked[torn:]


def _overlap(data: bytes, form: bytes) -> int:
    """Length of the longest proper beginning of `form` with which `data` ends."""
    for size in range(min(len(form) - 1, len(data)), 0, -1):
        if data.endswith(form[:size]):
            return size
    return 0


def _forms(value: str) -> set[str]:
    escaped = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    twice = {json.dumps(form)[1:-1] for form in escaped}  # JSON carried as text within JSON
    return {value, quote(value, safe=""), quote(value), quote_plus(value), *escaped, *twice, *_base64_forms(value)}


def _base64_forms(value: str) -> set[str]:
    """The characters that encode `value` whatever stands before and after it in the encoded text."""
    data = value.encode("utf-8", "surrogateescape")
    forms = {base64.b64encode(data).decode().rstrip("="), base64.urlsafe_b64encode(data).decode().rstrip("=")}
    for before in range(3):
        skip = -(-before * 8 // 6)  # characters that also carry bits of what stands before
        whole = (before + len(data)) * 8 // 6  # characters that carry no bit of what comes after
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms.add(encode(b"\0" * before + data).decode()[skip:whole])
    return {form for form in forms if len(form) >= _SHORTEST_PIECE}
