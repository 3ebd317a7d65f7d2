"""One line of an MCP server: whatever it is, it is something, and reading it never fails."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.boundary.reading import Noise, Unclear, glued_answer, id_shown, read_line, shows_method
from arci.wire.jsonrpc import Notification, Request, Response

FRAMES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
        "id": st.one_of(st.integers(-5, 5), st.text(max_size=3), st.none(), st.floats(allow_nan=False), st.booleans()),
        "method": st.sampled_from(["ping", "", 3]),
        "params": st.sampled_from([{}, {"a": 1}, [], None]),
        "result": st.sampled_from([{}, {"content": []}, None, 1]),
        "error": st.sampled_from([{"code": 1, "message": "m"}, "text", None]),
        "ID": st.integers(),
    },
)


@given(FRAMES)
def test_a_frame_is_an_answer_only_if_it_is_one_beyond_doubt(frame: dict[str, object]) -> None:
    found = read_line(json.dumps(frame).encode())
    if isinstance(found, Response):
        assert type(frame["id"]) is int
        assert frame["jsonrpc"] == "2.0"
        assert ("result" in frame) != ("error" in frame)
        assert "method" not in frame
        assert found.raw == (json.dumps(frame["result"]).encode() if "result" in frame else None)
    elif isinstance(found, Unclear):
        assert found.id == frame["id"]
    elif isinstance(found, (Request, Notification)):
        assert found.method == frame["method"]
        assert ("id" in frame) == isinstance(found, Request)


@given(st.binary(max_size=300))
def test_no_bytes_make_reading_fail(line: bytes) -> None:
    assert isinstance(read_line(line), (Response, Request, Notification, Unclear, Noise))
    glued_answer(line)
    id_shown(line, line)
    shows_method(line)


@given(st.text(max_size=40), st.text(max_size=40))
def test_an_answer_is_found_within_any_line(before: str, after: str) -> None:
    answer = '{"jsonrpc":"2.0","id":3,"result":{}}'
    line = (before + answer + after).encode("utf-8", "replace")
    found = read_line(line)
    if not isinstance(found, (Response, Unclear)):
        assert glued_answer(line) == 3 or "{" in before or not after.strip()


@pytest.mark.parametrize(
    ("head", "tail", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":[[', b"]]}", 7),
        (b'{"id": 7 , "result":"xx', b"", 7),
        (b'{"id":"7","result":"xx', b'","id":8}', None),
        (b'{"id":7,"id":8,"result":"xx', b'","id":9}', None),
        (b'{"result":"xx', b'xx","jsonrpc":"2.0","id":7}', 7),
        (b'{"result":"xx', b'xx","id": 7, "jsonrpc": "2.0"}\r', 7),
        (b'{"result":{"x":"xx', b'xx","id":7}}', None),
        (b'{"result":"xx', b'xx","id":"7"}', None),
        (b'{"method":"m","id":7,"params":"xx', b'xx"}', None),
        (b"xx", b"xx", None),
        (b"", b"", None),
    ],
)
def test_the_id_of_a_line_that_cannot_be_read_is_shown_by_its_head_or_its_end(
    head: bytes, tail: bytes, id: int | None
) -> None:
    assert id_shown(head, tail) == id


@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'log: {"jsonrpc":"2.0","id":1,"method":"ping"}', None),
        (b'log: {"jsonrpc":"2.0","id":1,"result":', None),
        (b'log: {"a":1} {"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"m"}}', 4),
        (b"{" * 40 + b'{"jsonrpc":"2.0","id":1,"result":{}}', None),
        (b"x" * (1 << 20) + b'{"jsonrpc":"2.0","id":1,"result":{}}', None),
    ],
)
def test_only_whole_answers_within_bounds_are_looked_for(line: bytes, id: int | None) -> None:
    assert glued_answer(line) == id
