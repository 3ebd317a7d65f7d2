"""A marker in every form in which programs show a secret: none gets through, wherever it is cut or wrapped."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import subprocess
import textwrap
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.errors import ArciError, Problem, SpecError
from arci.run.loose_forms import QUOTED, WRAPPED, LooseForms
from arci.run.masking import Masks, masked_errors
from arci.run.torn import overlap
from arci.run.witness import Masked

MARK = "mark7f3a91"
SECRET = f"{MARK}/+ \"q' \\k$`<&>%ü={MARK}!"
DATA = SECRET.encode()
MASKS = Masks({"KEY": SECRET})
B64, URL64 = base64.b64encode, base64.urlsafe_b64encode

FORMS: dict[str, Callable[[], str]] = {
    "plain": lambda: SECRET,
    "base64": lambda: B64(DATA).decode(),
    "base64 without padding": lambda: B64(DATA).decode().rstrip("="),
    "base64, url": lambda: URL64(DATA).decode(),
    "base64, one before": lambda: B64(b"u" + DATA).decode(),
    "base64, two before": lambda: B64(b"us" + DATA + b":").decode(),
    "base64, url, within": lambda: URL64(b"user:" + DATA + b"@host").decode(),
    "base64 of base64's 76 columns": lambda: base64.encodebytes(b"header: " + DATA * 3).decode(),
    "base64 in 64 columns": lambda: "\r\n".join(textwrap.wrap(B64(b"xy" + DATA * 3).decode(), 64)),
    "base64 wrapped and indented": lambda: textwrap.indent("\n".join(textwrap.wrap(B64(DATA).decode(), 16)), "    "),
    "base64 wrapped in JSON": lambda: json.dumps({"pem": "\n".join(textwrap.wrap(B64(DATA).decode(), 20))}),
    "hex": lambda: DATA.hex(),
    "HEX": lambda: DATA.hex().upper(),
    "hex wrapped": lambda: "\n".join(textwrap.wrap(DATA.hex(), 32)),
    "percent": lambda: quote(SECRET, safe=""),
    "percent, path": lambda: quote(SECRET),
    "percent, form": lambda: quote_plus(SECRET),
    "percent, small": lambda: re.sub("%..", lambda found: found.group().lower(), quote(SECRET, safe="")),
    "percent, encodeURIComponent": lambda: quote(SECRET, safe="-_.!~*'()"),
    "percent, encodeURI": lambda: quote(SECRET, safe=";,/?:@&=+$#-_.!~*'()"),
    "percent, every byte": lambda: "".join(f"%{byte:02x}" for byte in DATA),
    "JSON": lambda: json.dumps(SECRET),
    "JSON, UTF-8": lambda: json.dumps(SECRET, ensure_ascii=False),
    "JSON with escaped slashes": lambda: json.dumps(SECRET).replace("/", "\\/"),
    "JSON for HTML": lambda: json.dumps(SECRET).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    "JSON with large escapes": lambda: json.dumps(SECRET).replace("\\u00fc", "\\u00FC"),
    "JSON in JSON": lambda: json.dumps(json.dumps({"a": [SECRET]})),
    "shell": lambda: shlex.quote(SECRET),
    "shell, the other way": lambda: "'" + SECRET.replace("'", "'\\''") + "'",
    "shell, double quotes": lambda: '"' + SECRET.translate({ord(c): f"\\{c}" for c in '\\"$`'}) + '"',
    "shell, printf %q": lambda: subprocess.check_output(["bash", "-c", 'printf %q "$0"', SECRET]).decode(),
    "shell in JSON": lambda: json.dumps({"argv": f"curl -H {shlex.quote(SECRET)}"}),
    "HTML": lambda: html.escape(SECRET),
    "HTML, text": lambda: html.escape(SECRET, quote=False),
    "HTML, numbers": lambda: html.escape(SECRET).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    "XML": lambda: html.escape(SECRET).replace("&#x27;", "&apos;"),
    "repr": lambda: repr(SECRET),
    "ascii": lambda: ascii(SECRET),
    "repr of bytes": lambda: repr(DATA),
    "JSON three times in a repr": lambda: repr([json.dumps(json.dumps(json.dumps([SECRET])))]),
    "shell in repr in JSON": lambda: json.dumps(repr({"argv": shlex.quote(SECRET)})),
    "HTML in JSON in repr": lambda: repr(json.dumps(html.escape(SECRET))),
    "repr of repr in JSON": lambda: json.dumps(repr(SECRET)),
}
"""As other programs make them: not by the code under test."""
TELLTALES = [MARK, MARK.encode().hex(), MARK.encode().hex().upper(), "".join(f"%{b:02x}" for b in MARK.encode())]
TELLTALES += [form for before in range(3) for form in [B64(b"\0" * before + MARK.encode()).decode()[4:12]]]


def tells(text: str) -> list[str]:
    """Which pieces of the marker can be read in `text`, however it is wrapped."""
    dense = "".join(text.replace("\\n", "").replace("\\r", "").split())
    return [piece for piece in TELLTALES if piece in dense]


@pytest.mark.parametrize("name", FORMS)
def test_no_form_of_a_secret_gets_through(name: str) -> None:
    form = FORMS[name]()
    assert tells(form), "the form shows the marker, or this tests nothing"
    for text in (form, f"before {form} after", f"x={form};{form}"):
        assert tells(MASKS.text(text)) == []
        assert "<secret:KEY>" in MASKS.text(text)
        masked = MASKS.output(text.encode())
        assert tells(masked.decode("utf-8", "replace")) == []
        assert len(masked) == len(text.encode())
    assert MASKS.text(f"before {form} after").startswith("before ")
    assert MASKS.text(f"before {form} after").endswith(" after")
    assert tells(json.dumps(MASKS.value({"a": [{form: form}]}))) == []


@pytest.mark.parametrize("name", FORMS)
def test_no_form_gets_through_where_a_stream_is_cut(name: str) -> None:
    data = f"before {FORMS[name]()} after\n".encode()
    for size in (1, 3, 7, 16, 50):
        seen = _Seen()
        masked = Masked(seen, MASKS)
        for at in range(0, len(data), size):
            masked.output("agent", "stdout", data[at : at + size])
        masked.rest()
        assert tells(seen.data.decode("utf-8", "replace")) == []
        assert len(seen.data) == len(data)


class _Seen:
    def __init__(self) -> None:
        self.data = b""

    def output(self, guest: str, stream: str, data: bytes) -> None:
        self.data += data

    def event(self, event: object) -> None:
        raise AssertionError("none is sent")


@pytest.mark.parametrize("columns", [20, 64, 76])
def test_a_wrapped_secret_cut_anywhere_tells_at_most_the_few_characters_before_its_first_line_end(columns: int) -> None:
    text = "\n".join(textwrap.wrap(B64(DATA).decode(), columns)).encode()
    for at in range(len(text) + 1):
        head, tail = MASKS.before_cut(text[:at]), MASKS.after_cut(text[at:])
        assert tells(head.decode()) == []
        assert tells(tail.decode()) == []


@pytest.mark.parametrize("name", ["plain", "base64", "hex", "percent", "JSON in JSON"])
def test_a_piece_at_either_end_of_a_text_that_was_cut_elsewhere_is_masked(name: str) -> None:
    form = FORMS[name]().strip('"')
    for at in range(len(form)):
        assert tells(MASKS.text("the end: " + form[:at])) == []
        assert tells(MASKS.text(form[at:] + " and so on")) == []


def test_secrets_that_share_characters_leave_nothing_over() -> None:
    masks = Masks({"ONE": "abcdefgh", "TWO": "efghijkl", "INNER": "cdef"})
    assert masks.text("<abcdefghijkl>") == "<<secret:ONE>>"
    assert masks.output(b"-abcdefghijkl-") == b"-" + b"*" * 12 + b"-"


def test_a_secret_of_several_lines_is_masked_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nline-one-abcdefgh\nline-two-ijklmnop\nab\n-----END KEY-----\n"
    masks = Masks({"PEM": key})
    for text in (key, key.strip(), textwrap.indent(key, "  "), key.replace("\n", "\r\n"), json.dumps(key)):
        assert "line-" not in masks.text(text)
    assert masks.text("ab") == "ab"


def test_a_number_that_is_a_secret_is_masked_and_others_are_left() -> None:
    masks = Masks({"PIN": "1234"})
    value = {"a": 1234, "b": [12345, 0.1234, True, None], "c": "no. 1234"}
    assert masks.value(value) == {
        "a": "<secret:PIN>",
        "b": [12345, 0.1234, True, None],
        "c": "no. <secret:PIN>",
    }


def test_bytes_that_are_no_utf8_and_halves_of_pairs_are_masked() -> None:
    raw = b"\xff\xfe-secret-\xe9"
    masks = Masks({"RAW": raw.decode("utf-8", "surrogateescape"), "HALF": "half\ud83d-of-a-pair"})
    assert masks.output(b"x" + raw + b"y") == b"x" + b"*" * len(raw) + b"y"
    assert masks.output(base64.b64encode(raw))[:12] == b"*" * 12
    assert masks.text("a half\ud83d-of-a-pair b \ud800") == "a <secret:HALF> b \ud800"


@given(st.text(max_size=200))
def test_a_text_without_the_secret_is_left_as_it_is(text: str) -> None:
    masks = Masks({"KEY": "Zq0-Zq1-Zq2-Zq3"})
    if "Zq" not in text:
        assert masks.text(text) == text
        assert masks.value([text, {text: 1}]) == [text, {text: 1}]


@given(st.text(min_size=4, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_any_value_is_masked_in_any_text(secret: str, before: str, after: str) -> None:
    masked = Masks({"": secret}).text(before + secret + after)
    assert "<secret:>" in masked
    assert secret not in masked or secret in "<secret:>"


@given(st.binary(max_size=12), st.binary(min_size=1, max_size=6))
def test_the_overlap_is_the_longest_proper_beginning_at_the_end(data: bytes, form: bytes) -> None:
    sizes = [size for size in range(1, len(form)) if data.endswith(form[:size])]
    assert overlap(data, form) == max(sizes, default=0)


def test_what_is_torn_of_a_wrapped_or_quoted_text_counts_what_stands_between() -> None:
    wrapped, quoted = (LooseForms({b"abcdefghijklm": ""}, gap) for gap in (WRAPPED, QUOTED))
    assert wrapped.torn(b"x abcdefgh\n  ij") == len(b"abcdefgh\n  ij")
    assert wrapped.torn(b"x abcdefgh\\nij") == len(b"abcdefgh\\nij")
    assert wrapped.torn(b"x\nabc") == 0, "an ordinary line"
    assert wrapped.torn(b"xabcdefghij") == 0, "not wrapped"
    assert wrapped.torn(b" x" + b"fghij\nklm"[::-1], backwards=True) == len(b"fghij\nklm")
    assert quoted.torn(b"x abc\\\\defgh\\i") == len(b"abc\\\\defgh\\i")


def test_errors_are_masked_with_their_problems_and_hints() -> None:
    problem = Problem("file:1", "arms", f"said {SECRET}", f"drop {SECRET}")
    with pytest.raises(SpecError) as spec, masked_errors(MASKS):
        raise SpecError([problem])
    with pytest.raises(ArciError) as plain, masked_errors(MASKS):
        raise ArciError(f"broke at {SECRET}", hint=f"try {SECRET}")
    for caught in (spec, plain):
        for text in (str(caught.value), repr(caught.value), *map(str, _problems(caught.value))):
            assert tells(text) == []
            assert "<secret:KEY>" in text


def _problems(error: Any) -> tuple[Problem, ...]:
    return getattr(error, "problems", ())
