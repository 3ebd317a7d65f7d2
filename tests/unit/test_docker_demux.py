"""The attach stream cut anywhere gives the same bytes per stream (N21, N22)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.isolation.docker.demux import Demux


def _frame(stream: int, payload: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


def _feed(pieces: list[bytes]) -> dict[str, bytes]:
    demux, found = Demux(), {"stdout": b"", "stderr": b""}
    for piece in pieces:
        for chunk in demux.feed(piece):
            found[chunk.stream] += chunk.data
    assert demux.is_between_frames
    return found


FRAMES = st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=8)


@given(frames=FRAMES, size=st.integers(1, 50))
def test_any_piece_size_gives_the_same_streams(frames: list[tuple[int, bytes]], size: int) -> None:
    raw = b"".join(_frame(*frame) for frame in frames)
    expected = {
        "stdout": b"".join(p for s, p in frames if s == 1),
        "stderr": b"".join(p for s, p in frames if s == 2),
    }
    assert _feed([raw[i : i + size] for i in range(0, len(raw), size)]) == expected


@given(frames=FRAMES, data=st.data())
def test_a_cut_at_any_offset_loses_nothing(frames: list[tuple[int, bytes]], data: st.DataObject) -> None:
    raw = b"".join(_frame(*frame) for frame in frames)
    cut = data.draw(st.integers(0, len(raw)))
    assert _feed([raw[:cut], raw[cut:]]) == _feed([raw])


def test_a_character_split_over_two_frames_is_not_finished_by_the_other_stream() -> None:
    raw = _frame(1, b"\xf0\x9f") + _frame(2, b"err") + _frame(1, b"\x9a\x80")
    found = _feed([raw])
    assert found["stdout"].decode() == "\U0001f680"
    assert found["stderr"] == b"err"


def test_a_header_that_is_none_is_an_error_and_no_text() -> None:
    with pytest.raises(ValueError, match="frame header"):
        list(Demux().feed(b"HTTP/1.1 500"))


def test_a_stream_that_ends_inside_a_frame_says_so() -> None:
    demux = Demux()
    list(demux.feed(_frame(1, b"whole")[:-1]))
    assert not demux.is_between_frames
