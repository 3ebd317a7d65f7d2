"""Hostile text in reports: nothing of it reaches the terminal or GitHub as more than text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.report.escape import clip, code, columns, fold, markdown, pad, printable

ANY = st.text(st.characters(exclude_categories=()), max_size=80)
HOSTILE = ANY | st.text(st.sampled_from("a \x1b[]\r\n\t|`<\\漢\u202e\ud800@:/w."), max_size=80)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]8;;http://x\x07link", "\\x1b]8;;http://x\\x07link"),
        ("a\r\nb\tc", "a\\x0d\\x0ab\\x09c"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202egnp", "\\u202egnp"),
        ("\u2028", "\\u2028"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("naïve 漢字 ✓", "naïve 漢字 ✓"),
    ],
)
def test_what_is_not_visible_is_written_as_an_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(HOSTILE)
def test_printable_text_is_printable_and_can_be_written(text: str) -> None:
    shown = printable(text)
    assert all(c == " " or c.isprintable() for c in shown)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert printable(shown) == shown


@given(HOSTILE, st.integers(3, 40))
def test_clipped_and_padded_text_keeps_to_its_columns(text: str, width: int) -> None:
    assert columns(clip(text, width)) <= width
    assert columns(pad(text, width)) == width


@given(HOSTILE, st.sampled_from(["", "  - ", "    "]), st.sampled_from(["", "        "]))
def test_folded_text_keeps_to_its_columns_and_loses_nothing_but_blanks(text: str, first: str, rest: str) -> None:
    lines = fold(text, first, rest, 30)
    assert all(columns(line) <= 30 for line in lines)
    assert "".join(lines).replace(" ", "") == (first + printable(text)).replace(" ", "")
    assert [line.startswith(rest) for line in lines[1:]] == [True] * (len(lines) - 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<script>", "&lt;script\\>"),
        ("&lt;", "&amp;lt;"),
        ("[x](http://evil)", "\\[x\\](http:\\/\\/evil)"),
        ("www.evil.com", "www\\.evil.com"),
        ("@team", "@&#8203;team"),
        ("`code`", "\\`code\\`"),
        ("$x$ ~~y~~ **z**", "\\$x\\$ \\~\\~y\\~\\~ \\*\\*z\\*\\*"),
        ("a\nb\n# c", "a\\\\x0ab\\\\x0a\\# c"),
        ("\\|", "\\\\\\|"),
    ],
)
def test_markup_is_plain_text_in_markdown(text: str, shown: str) -> None:
    assert markdown(text) == shown


@given(HOSTILE)
def test_no_text_ends_a_table_cell_or_starts_html(text: str) -> None:
    for shown in (markdown(text), code(text)):
        assert "\n" not in shown
        assert not re.search(r"(?<!\\)(\\\\)*[|<]", shown)


def test_an_id_is_a_code_span_and_hostile_text_is_none() -> None:
    assert code("reserve-timeout:00012:candidate") == "`reserve-timeout:00012:candidate`"
    assert code("a`b") == "a\\`b"
