"""Lines out of bytes that are cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.wire.framing import LineDecoder, Oversize

STREAM = b'{"a":1}\r\n\n  \n\xef\xbb\xbf{"b":"\xe2\x80\xa8"}\n' + b"x" * 30 + b'\n{"c":3}\n{"unfinished'
WHOLE: list[bytes | Oversize] = [b'{"a":1}', b'{"b":"\xe2\x80\xa8"}', Oversize(b"x" * 25, 24), b'{"c":3}']


def decode(pieces: list[bytes], limit: int = 24) -> tuple[list[bytes | Oversize], LineDecoder]:
    decoder = LineDecoder(limit)
    return [line for piece in pieces for line in decoder.feed(piece)], decoder


def same(found: list[bytes | Oversize]) -> bool:
    """Equal but for how much of the oversize line had been seen when it passed the limit."""
    return [type(f) for f in found] == [type(w) for w in WHOLE] and all(
        f == w for f, w in zip(found, WHOLE, strict=True) if isinstance(w, bytes)
    )


@pytest.mark.parametrize("cut", range(len(STREAM) + 1))
def test_a_cut_at_any_byte_changes_no_line(cut: int) -> None:
    found, decoder = decode([STREAM[:cut], STREAM[cut:]])
    assert same(found)
    assert (decoder.buffered, decoder.boms) == (len(b'{"unfinished'), 1)


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_many_cuts_change_no_line(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    found, decoder = decode([STREAM[a:b] for a, b in pairwise(places)])
    assert same(found)
    assert decoder.discarded == 30


@given(st.binary(max_size=200), st.integers(1, 40))
def test_any_bytes_give_bounded_lines_without_newlines(data: bytes, limit: int) -> None:
    decoder = LineDecoder(limit)
    for line in decoder.feed(data):
        if isinstance(line, bytes):
            assert len(line) <= limit
            assert b"\n" not in line
            assert line.strip(b" \t\r")
    assert decoder.buffered <= limit


def test_a_line_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    assert decode([b"x" * 24 + b"\n"])[0] == [b"x" * 24]
    assert decode([b"x" * 25 + b"\n"])[0] == [Oversize(b"x" * 25, 24)]


def test_an_endless_line_is_reported_before_it_ends_and_holds_no_memory() -> None:
    decoder = LineDecoder(24)
    assert decoder.feed(b"y" * 20) == []
    assert decoder.feed(b"y" * 20) == [Oversize(b"y" * 40, 24)]
    assert decoder.feed(b"y" * 1_000_000) == []
    assert (decoder.buffered, decoder.discarded) == (0, 1_000_040)


def test_a_byte_order_mark_within_the_stream_is_removed_and_counted() -> None:
    lines, decoder = decode([b"\xef\xbb\xbfone\ntwo\n\xef\xbb\xbfthree\n"])
    assert lines == [b"one", b"two", b"three"]
    assert decoder.boms == 2
