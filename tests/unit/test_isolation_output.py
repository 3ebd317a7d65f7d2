"""Bounded capture: head, tail and exact counts, however the stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.isolation.output import HEAD_BYTES, TAIL_BYTES, LogTail


@given(st.lists(st.binary(max_size=40)), st.integers(0, 30), st.integers(0, 30))
def test_head_and_tail_are_those_of_the_whole_stream(pieces: list[bytes], head_bytes: int, tail_bytes: int) -> None:
    log = LogTail(head_bytes, tail_bytes)
    for piece in pieces:
        log.add(piece)
    whole = b"".join(pieces)
    rest = whole[head_bytes:]
    assert log.head == whole[:head_bytes]
    assert log.tail == rest[max(0, len(rest) - tail_bytes) :]
    assert log.total_bytes == len(whole)
    assert log.omitted_bytes == len(whole) - len(log.head) - len(log.tail)


def test_memory_is_bounded_by_head_and_twice_the_tail() -> None:
    log = LogTail()
    for _ in range(1000):
        log.add(b"x" * 10_000)
    assert log.total_bytes == 10_000_000
    assert (len(log.head), len(log.tail)) == (HEAD_BYTES, TAIL_BYTES)
    assert len(log._tail) <= 2 * TAIL_BYTES


def test_text_says_what_was_left_out() -> None:
    log = LogTail(3, 3)
    log.add(b"abc")
    log.add(b"1234567\xff89")
    assert log.text() == "abc\n[... 7 bytes left out ...]\n�89"


def test_text_of_a_short_stream_is_the_stream_even_across_the_seam() -> None:
    log = LogTail(1, 8)
    log.add("ü\n".encode())
    assert log.text() == "ü\n"


def test_a_negative_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="head_bytes -1"):
        LogTail(-1, 3)
