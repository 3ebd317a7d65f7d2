"""No line of a client or of a server, however it was damaged, raises anything where it is read."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from arci.boundary.reading import glued_answer, id_shown, read_line, shows_method
from arci.wire.jsonrpc import parse

LINES = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1,2.5,"\\u00e9\\ud83d\\ude00"]}}}',
    b'{"jsonrpc":"2.0","id":7,"result":{"content":[],"x":NaN,"y":-0.0,"z":1e400,"t":"\\ud800"}}',
    b'[{"error":{"code":1,"message":"m"},"id":null},"text"]',
)
PIECES = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\\u12",
    b"\\ud8",
    b"NaN",
    b"-",
    b"1e999",
    b"\xef\xbb\xbf",
    b"\xff",
]
EDITS = st.tuples(st.integers(0, 200), st.integers(0, 6), st.sampled_from([b"", *PIECES]))


def damaged(line: bytes, edit: tuple[int, int, bytes]) -> bytes:
    """Some bytes at a place of the line replaced by others."""
    place, dropped, put = edit
    at = place % (len(line) + 1)
    return line[:at] + put + line[at + dropped :]


@given(st.sampled_from(LINES), st.lists(EDITS, min_size=1, max_size=5))
def test_a_damaged_line_is_read_as_something(line: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    found = reduce(damaged, edits, line)
    assert parse(found) is not None
    assert read_line(found) is not None
    assert glued_answer(found) is None or isinstance(glued_answer(found), int)
    assert shows_method(found) in (True, False)
    id_shown(found[:100], found[-100:])
