"""How the value of a secret looks where programs print or send it: the texts that masking looks for. Pure."""

from __future__ import annotations

import base64
import html
import json
import shlex
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

__all__ = ["SHORTEST_PIECE", "data_of", "encoded_forms", "plain_forms"]

SHORTEST_PIECE = 8
"""Characters. Shorter pieces of an encoded text, or lines of a secret, are found in everything and not looked for."""
_ENCODE_URI = ";,/?:@&=+$#-_.!~*'()"
_ENCODE_URI_COMPONENT = "-_.!~*'()"


def plain_forms(value: str) -> set[str]:
    """`value` itself, quoted and escaped; and of one with several lines, each that is long enough."""
    values = {
        value,
        value.strip(),
        *(line.strip() for line in value.splitlines() if len(line.strip()) >= SHORTEST_PIECE),
    }
    forms: set[str] = set()
    for text in filter(None, values):
        forms |= {text, *_json(text), *_percent(text), *_shell(text), *_html(text), *_literals(text)}
    # JSON carried as text within JSON, and what a shell was told, printed as JSON
    return forms | {json.dumps(form)[1:-1] for form in forms} - {""}


def encoded_forms(value: str) -> set[str]:
    """Base64 at each place of a longer text, in both alphabets, and hexadecimal in both cases. Programs wrap these."""
    forms: set[str] = set()
    for text in {value, value.strip()}:
        data = data_of(text)
        forms |= {data.hex(), data.hex().upper(), *_base64(data)}
    return {form for form in forms if len(form) >= SHORTEST_PIECE}


def data_of(text: str) -> bytes:
    """The bytes of a variable: those that are no UTF-8 are kept as halves of surrogate pairs."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no variable of this machine
        return text.encode("utf-8", "surrogatepass")


def _json(text: str) -> Iterator[str]:
    for form in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        yield form
        yield form.replace("/", "\\/")
        # what makes JSON safe within HTML: Go, Rails, Django
        yield _replaced(form, {c: f"\\u{ord(c):04x}" for c in "<>&'"})
        yield _replaced(form, {c: f"\\u{ord(c):04x}" for c in "<>&"})
    yield _upper_after(json.dumps(text)[1:-1], "\\u", 4)


def _percent(text: str) -> Iterator[str]:
    data = data_of(text)
    for safe in ("", "/", _ENCODE_URI, _ENCODE_URI_COMPONENT):
        yield from _both_cases(quote(data, safe=safe))
    yield from _both_cases(quote_plus(data))
    yield from _both_cases("".join(f"%{byte:02X}" for byte in data))


def _both_cases(quoted: str) -> tuple[str, str]:
    """RFC 3986 writes capitals; some libraries do not."""
    parts = quoted.split("%")
    return quoted, "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])


def _shell(text: str) -> Iterator[str]:
    yield shlex.quote(text).strip("'")
    yield text.replace("'", "'\\''")
    yield _replaced(text, {c: f"\\{c}" for c in '\\"$`'})
    yield _replaced(text, {c: f"\\{c}" for c in '\\"$`!'})
    yield "".join(c if c.isalnum() or c in "_-./:=+@%^," else f"\\{c}" for c in text)
    yield "".join(c if c.isalnum() or c in "_-./:=+@%" else f"\\{c}" for c in text)
    yield "".join(c if c.isalnum() or c in "_-./" else f"\\{c}" for c in text)


def _html(text: str) -> Iterator[str]:
    escaped = html.escape(text, quote=False)
    yield escaped
    for double in ("&quot;", "&#34;", "&#x22;", '"'):
        for single in ("&#x27;", "&#39;", "&apos;", "'"):
            yield escaped.replace('"', double).replace("'", single)


def _literals(text: str) -> Iterator[str]:
    """As Python, Rust or a debugger show a string."""
    yield repr(text)[1:-1]
    yield ascii(text)[1:-1]
    yield repr(data_of(text))[2:-1]
    yield _replaced(text, {"\\": "\\\\", "'": "\\'"})


def _base64(data: bytes) -> Iterator[str]:
    """The characters that encode `data` whatever stands before and after it in the encoded text."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(data).decode().rstrip("=")
        for before in range(3):
            skip = -(-before * 8 // 6)  # characters that also carry bits of what stands before
            whole = (before + len(data)) * 8 // 6  # characters that carry no bit of what comes after
            yield encode(b"\0" * before + data).decode()[skip:whole]


def _replaced(text: str, places: Mapping[str, str]) -> str:
    return text.translate({ord(character): instead for character, instead in places.items()})


def _upper_after(text: str, mark: str, count: int) -> str:
    first, *parts = text.split(mark)
    return mark.join([first, *(part[:count].upper() + part[count:] for part in parts)])
