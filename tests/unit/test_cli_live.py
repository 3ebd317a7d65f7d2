"""A trial told while it goes on, and the tools of an experiment as a list: hostile text in, plain lines out."""

from __future__ import annotations

import fcntl
import itertools
import os
import struct
import termios
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.cli.terminal import width_of
from arci.live import LONGEST_BYTES, Teller
from arci.report.tools import render_tools
from arci.run.masking import Masks
from arci.run.witness import Masked


def told(*pieces: bytes, stream: str = "stdout") -> list[str]:
    said: list[str] = []
    teller = Teller(said.append)
    for piece in pieces:
        teller.output("agent", stream, piece)
    teller.close()
    return said


def test_each_line_carries_who_and_where() -> None:
    said: list[str] = []
    teller = Teller(said.append)
    teller.output("agent", "stdout", b"half a ")
    teller.output("agent", "stderr", b"warning\r\n")
    teller.output("grader", "stdout", b"judged\n")
    teller.output("agent", "stdout", b"line\nlast")
    assert said == ["agent    ! warning", "grader   | judged", "agent    | half a line"]
    teller.close()
    assert said[3:] == ["agent    | last"]
    teller.close()
    assert len(said) == 4


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_the_cuts_of_a_stream_change_nothing(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]
    assert told(*pieces) == told(data)


def test_control_characters_reach_no_terminal() -> None:
    (line,) = told(b"\x1b[2J\x07red\xff\tend\n")
    assert line == "agent    | \\x1b[2J\\x07red\\xff\tend"


@pytest.mark.parametrize("size", [LONGEST_BYTES + 1, 5 * LONGEST_BYTES])
def test_of_an_endless_line_the_beginning_is_told_once(size: int) -> None:
    chunk = LONGEST_BYTES // 2
    data = b"x" * size + b"\nnext\n"
    lines = told(*(data[n : n + chunk] for n in range(0, len(data), chunk)))
    assert lines == ["agent    | " + "x" * LONGEST_BYTES + " ...", "agent    | next"]


@pytest.mark.parametrize("size", [1, 2, 5, 9, 100])
def test_a_secret_that_is_cut_is_not_told_in_two_pieces(size: int) -> None:
    said: list[str] = []
    masked = Masked(Teller(said.append), Masks({"KEY": "opensesame"}))
    data = b"say opensesame twice: opensesameopensesame; open sesame\n"
    for n in range(0, len(data), size):
        masked.output("agent", "stdout", data[n : n + size])
    stars = "*" * 10
    assert said == [f"agent    | say {stars} twice: {stars}{stars}; open sesame"]


def test_an_event_is_a_line_of_the_trace() -> None:
    said: list[str] = []
    Teller(said.append).event(
        {"kind": "tool_start", "at_s": 0.5, "tool": "pay", "occurrence": 1, "arguments": {"n": 2}}
    )
    (line,) = said
    assert line.startswith("trace    |")
    for text in ("0.500 s", "tool_start", "pay[1]", '{"n": 2}'):
        assert text in line


TOOLS: list[dict[str, Any]] = [
    {
        "name": "pay",
        "description": "Pay an order.\n  More words.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "order": {"type": "string"},
                "lines": {"type": "array", "items": {"type": "integer"}},
                "how": {"enum": ["card", "cash"]},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "any": True,
            },
            "required": ["order"],
        },
    },
    {"name": "look"},
]


def test_a_tool_is_told_with_its_arguments_and_what_it_does() -> None:
    text = render_tools(TOOLS, [{"name": "shop", "era": "legacy", "revision": "2025-11-25"}], ["shop.dump"])
    joined = " ".join(text.split())
    assert 'pay(order: string, lines?: [integer], how?: "card" | "cash", note?: string | null, any?: any)' in joined
    for expected in (
        "shop, legacy 2025-11-25",
        "sees: 2",
        "Pay an order. More words.",
        "look()",
        "hidden",
        "shop.dump",
    ):
        assert expected in joined


def test_nothing_is_said_of_hidden_tools_where_there_are_none() -> None:
    assert "hidden" not in render_tools(TOOLS, [], [])


@pytest.mark.parametrize(
    "tool",
    [
        {},
        {"name": "\x1b[31m" + "x" * 500, "description": 7, "inputSchema": []},
        {"name": "a", "inputSchema": {"properties": {"b": {"type": ["string", "null"]}}, "required": [{}]}},
        {"name": "a", "description": "word " * 5000, "inputSchema": {"properties": {"b": {"anyOf": [[]]}}}},
    ],
)
def test_a_hostile_tool_is_plain_text_of_bounded_width(tool: dict[str, Any]) -> None:
    text = render_tools([tool], [{"name": None, "info": {"name": "\n"}}], [])
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert len(text) < 3000


def test_lines_of_the_trace_are_cut_at_the_terminals_width_alone() -> None:
    said: list[str] = []
    for width in (None, 80):
        Teller(said.append, width).event({"kind": "tool_start", "at_s": 0.5, "arguments": "w" * 500})
    whole, cut = said
    assert whole.endswith('w"')
    assert (len(cut), cut.endswith("...")) == (80, True)


def test_a_file_or_a_pipe_has_no_width_and_a_terminal_has_its_own(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file:
        assert width_of(file) is None
    leader, follower = os.openpty()
    with os.fdopen(leader), os.fdopen(follower, "w") as terminal:
        assert width_of(terminal) is None
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 132, 0, 0))
        assert width_of(terminal) == 132
