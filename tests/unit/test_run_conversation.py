"""What the recorder says, and what no recorder says: lines in, state out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.model.trial import Blame
from arci.run import frames
from arci.run.conversation import Conversation
from arci.run.frames import MOST_DEPTH, FrameError, LineCutter, parse_object


def told(*said: dict[str, Any]) -> Conversation:
    conversation = Conversation()
    for frame in said:
        conversation.absorb(json.dumps(frame).encode())
    return conversation


READY = {"type": "ready", "tools": [{"name": "t"}]}
END = {"type": "end", "count": 1}
EVENT = {"type": "event", "event": {"kind": "tool_start", "tool": "t"}}
STARTED = {"type": "status", "status": "started"}
ENDED = {"type": "status", "status": "ended", "code": 3, "oom_kills": None}
TROUBLE = {"type": "trouble", "blame": "environment", "detail": "gone", "phase": "trial", "stderr": "why"}


def test_a_whole_conversation_is_understood() -> None:
    said = told(READY, STARTED, EVENT, ENDED, {"type": "final_state", "state": {"a": 1}}, END)
    assert said.is_ready
    assert said.init.started
    assert (said.init.code, said.init.oom_kills) == (3, None)
    assert (said.final_state, said.has_ended, said.troubles) == ({"a": 1}, True, [])
    said.close()
    assert said.troubles == []


@pytest.mark.parametrize(("told_bytes", "peak"), [({}, None), ({"peak_bytes": 4096}, 4096)])
def test_the_most_memory_is_known_where_the_kernel_told_it(told_bytes: dict[str, int], peak: int | None) -> None:
    assert told(STARTED, {**ENDED, **told_bytes}).init.peak_memory_bytes == peak


@pytest.mark.parametrize(
    ("said", "came_first"),
    [
        ((STARTED, TROUBLE), True),
        ((STARTED, ENDED, TROUBLE), False),
        ((STARTED, {"type": "latched", "budget": "max_tool_calls"}, TROUBLE), False),
        ((STARTED, {"type": "status", "status": "lost"}, TROUBLE), False),
        ((STARTED, {"type": "status", "status": "worker_ready"}, TROUBLE), True),
    ],
)
def test_a_trouble_knows_whether_the_agents_fate_was_decided_before(said: tuple[Any, ...], came_first: bool) -> None:
    (trouble,) = told(*said).troubles
    assert (trouble.blame, trouble.came_first, trouble.stderr) == (Blame.ENVIRONMENT, came_first, "why")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"Killed",
        b"[]",
        b"{}",
        b'{"type": "verdict"}',
        b'{"type": ["ready"]}',
        b'{"type": "ready"}',
        b'{"type": "status", "status": "happy"}',
        b'{"type": "status", "status": "ended"}',
        b'{"type": "status", "status": "ended", "code": true}',
        b'{"type": "status", "status": "exec_failed", "errno": "2"}',
        b'{"type": "event", "event": {}}',
        b'{"type": "event", "event": {"kind": "x", "sha256": "0"}}',
        b'{"type": "event", "event": {"kind": "x", "v": NaN}}',
        b'{"type": "event", "event": {"kind": "x", "v": 1e400}}',
        b'{"type": "trouble", "blame": "agent", "detail": ""}',
        b'{"type": "final_state", "state": [1]}',
        b'{"type": "end"}',
        b'{"type": "end", "count": 1}',
        b"\xff\xfe",
        b'{"type": "event", "event": ' + b"[" * 100_000,
        b'{"type": "event", "event": {"kind": "x", "v": ' + b"[" * 400 + b"]" * 400 + b"}}",
    ],
)
def test_what_no_recorder_says_is_a_trouble_and_nothing_after_it_is_heard(line: bytes) -> None:
    said = Conversation()
    said.absorb(line)
    assert [trouble.blame for trouble in said.troubles] == [Blame.HARNESS]
    said.absorb(json.dumps(READY).encode())
    assert not said.is_ready


def test_nothing_follows_the_end() -> None:
    said = told(EVENT, END, READY)
    assert "after `end`" in said.troubles[0].detail


def test_a_stream_that_ends_early_is_a_trouble_and_says_if_a_frame_was_torn() -> None:
    said = told(READY)
    said.close(b'{"type": "eve')
    assert "in the middle of a frame" in said.troubles[0].detail


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), max_size=8), st.integers(1, 9))
def test_lines_come_out_whole_however_the_stream_is_cut(lines: list[bytes], step: int) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"rest"
    cutter = LineCutter()
    found = [line for at in range(0, len(stream), step) for line in cutter.feed(stream[at : at + step])]
    assert found == lines
    assert cutter.rest == b"rest"


def test_a_line_without_end_and_a_stream_without_end_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MOST_LINE_BYTES", 10)
    with pytest.raises(FrameError, match="frame of more than"):
        list(LineCutter().feed(b"x" * 11))
    monkeypatch.setattr(frames, "MOST_CHANNEL_BYTES", 20)
    cutter = LineCutter()
    assert list(cutter.feed(b"12345\n" * 3)) == [b"12345"] * 3
    with pytest.raises(FrameError, match="control channel"):
        list(cutter.feed(b"12345\n"))


def test_the_deepest_frame_allowed_is_read() -> None:
    value = b"[" * (MOST_DEPTH - 1) + b"]" * (MOST_DEPTH - 1)
    assert parse_object(b'{"v": ' + value + b"}")
    with pytest.raises(FrameError, match="nested"):
        parse_object(b'{"v": [' + value + b"]}")
