"""Bytes and frames through the engine: every cut, hello and token, hostile bytes, floods."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from engine_driver import Core
from hypothesis import given
from hypothesis import strategies as st

from arci.boundary.message import (
    Opened,
    Received,
    Said,
    Send,
    Wake,
)

if TYPE_CHECKING:
    from arci.boundary.message import Action
# Cuts

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get","arguments":{"u":"\xe2\x80\xa8"}}}'
STREAM = b"".join(
    [
        b"ARCI worker a\n",
        CALL % 1 + b"\r\n",
        b"\n\xef\xbb\xbf" + CALL % 2 + b"\n",
        b"garbage\n",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n',
        b'{"jsonrpc":"2.0","method":"notifications/arci/model_step","params":{"summary":"s","facts":{"n":1}}}\n',
        b'{"jsonrpc":"2.0","id":3,"method":"arci/result","params":{"claim":{"done":true}}}\n',
    ]
)


def run_in_pieces(pieces: list[bytes]) -> list[Action]:
    """Everything the engine does; the environment's answers are cut into single bytes on the way."""
    core = Core().begun()
    core.handle(Opened(0))
    for piece in pieces:
        core.handle(Received(0, piece))
        while core.asked:
            id = core.asked.pop(0)["id"]
            line = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"structuredContent": {"result": id}}})
            for byte in line.encode() + b"\n":
                core.handle(Said("tools", bytes([byte])))
    core.close(0)
    core.agent_gone()
    core.reply({"state": {"x": 1}})
    return [a for a in core.actions if not isinstance(a, Wake)]


WHOLE = run_in_pieces([STREAM])


def by_stream(actions: list[Action]) -> dict[str, list[Action]]:
    streams: dict[str, list[Action]] = {}
    for action in actions:
        streams.setdefault(type(action).__name__, []).append(action)
    return streams


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_no_cut_of_the_byte_stream_changes_what_is_done(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(places)]
    found, whole = by_stream(run_in_pieces(pieces)), by_stream(WHOLE)
    assert found["Ask"] == whole["Ask"]
    assert found.keys() == whole.keys()
    assert sorted(map(repr, found["Send"])) == sorted(map(repr, whole["Send"]))
    assert sorted(map(repr, found["Tell"])) == sorted(map(repr, whole["Tell"]))


@given(st.lists(st.binary(max_size=80) | st.sampled_from([b"ARCI worker a\n", CALL % 1 + b"\n"]), max_size=20))
def test_no_bytes_of_an_agent_break_the_engine(pieces: list[bytes]) -> None:
    core = Core().begun()
    core.handle(Opened(0))
    for piece in pieces:
        core.handle(Received(0, piece))
    other = core.open()
    core.ask(other, 1, "arci/trial")
    assert core.last(other)["task"] == {"k": 1}


# Hello


@pytest.mark.parametrize(
    "first",
    [
        *(b"ARCI worker wrong\n", b"ARCI other a\n", b"ARCI status a\n", b"ARCI worker s\n", b"GET / HTTP/1.1\r\n"),
        *(b"\xff\xfe\n", b"x" * 513, b"ARCI worker a" + b"x" * 600 + b"\n", CALL % 1 + b"\n"),
    ],
)
def test_a_connection_without_the_right_hello_is_ended_without_an_answer(first: bytes) -> None:
    core = Core().begun()
    core.handle(Opened(0))
    core.send(0, first)
    core.send(0, CALL % 1 + b"\n")
    assert core.is_closed(0)
    assert [a for a in core.actions if isinstance(a, Send)] == []
    assert core.events() == []


def test_there_is_one_status_connection() -> None:
    core = Core().begun()
    first, second = core.open("status", "s"), core.open("status", "s")
    assert (core.is_closed(first), core.is_closed(second)) == (False, True)


# Bad frames


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"garbage", -32700),
        (b'{"jsonrpc":"2.0"', -32700),
        (b"\xff\xff", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","name":"put"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"x":NaN}}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"x":1e400}}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","Name":"put"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","ARGUMENTS":{}}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":[1]}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":' + b"[" * 200 + b"]" * 200 + b"}}", -32600),
    ],
)
def test_a_bad_frame_is_answered_at_once_recorded_and_never_executed(line: bytes, code: int) -> None:
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, line + b"\n")
    assert core.last(agent)["code"] == code
    assert (core.kinds(), core.asked) == (["protocol"], [])
    core.ask(agent, 2, "ping")
    assert core.last(agent) == {}


def test_an_answer_to_nothing_is_recorded_and_not_answered() -> None:
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert (core.kinds(), core.sent(agent)) == (["protocol"], [])


def test_a_line_over_the_limit_is_refused_and_the_next_frame_is_heard() -> None:
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, b"x" * (8 * 1024 * 1024 + 1))
    assert core.last(agent)["code"] == -32600
    core.send(agent, b"yyy\n")
    core.ask(agent, 1, "ping")
    assert (core.last(agent), core.kinds()) == ({}, ["protocol"])


def test_an_endless_line_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.connections.FLOOD_BYTES", 9_000_000)
    core = Core().begun()
    agent = core.open("mcp")
    for _ in range(9):
        core.send(agent, b"x" * (1024 * 1024))
    assert core.is_closed(agent)
    assert [e["detail"] for e in core.events("protocol")][-1].endswith("flooding, ended")


def test_many_unfinished_lines_are_one_budget_and_the_largest_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.connections.BUFFER_BYTES", 10_000)
    core = Core().begun()
    agents = [core.open("mcp") for _ in range(4)]
    core.send(agents[1], b"x" * 4000)
    for agent in agents:
        core.send(agent, b"x" * 2000)
    assert [core.is_closed(a) for a in agents] == [False, True, False, False]


def test_a_million_bad_frames_are_not_a_million_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.connections.MOST_BAD_FRAMES", 300)
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, b"x\n" * 301)
    assert core.is_closed(agent)
    events = core.events("protocol")
    assert len(events) == 100
    assert events[-1]["detail"].endswith("further ones are not recorded")


def test_a_connection_that_ends_within_a_frame_is_noted() -> None:
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, b'{"jsonrpc"')
    core.close(agent)
    assert [e["detail"] for e in core.events("protocol")] == [
        "mcp connection: ended within a frame, after 10 bytes of it"
    ]
