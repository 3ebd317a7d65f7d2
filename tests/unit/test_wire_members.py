"""The members of one JSON object with the place of each, and the ambiguities between them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.wire.quickjson import members
from arci.wire.strict import read_members

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 0, 2]), st.booleans())
def test_members_are_those_of_the_object_and_each_stands_where_it_is_said_to(
    value: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = list(members(text))
    assert {key: each for key, each, _, _ in found} == value
    for key, each, start, end in found:
        assert json.loads(text[start:end]) == each == value[key]
        assert text[start:end].strip() == text[start:end]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "1",
        "{",
        '{"a"',
        '{"a":',
        '{"a":1',
        '{"a":1,',
        '{"a":1,}',
        '{"a" 1}',
        "{a:1}",
        '{"a":1}x',
        "{}{}",
        "{,}",
    ],
)
def test_what_is_no_object_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="char"):
        list(members(text))
    with pytest.raises(ValueError, match=r"Expecting|Extra|delimiter|property"):
        json.loads(text if text not in ("[]", "1") else "")


def test_members_before_the_place_where_it_breaks_are_given() -> None:
    assert [(k, v) for k, v, _, _ in _until_broken('{"id": 3, "result": {"a": ')] == [("id", 3)]
    assert [(k, v) for k, v, _, _ in _until_broken('{"id": 3} and more')] == [("id", 3)]


def _until_broken(text: str) -> list[Any]:
    found = []
    try:
        for member in members(text):
            found.append(member)  # noqa: PERF402  # what came before the error counts
    except ValueError:
        return found
    raise AssertionError("it was not broken")


@pytest.mark.parametrize(
    ("line", "problems", "doubled"),
    [
        (b'{"a":1,"b":2}', [], []),
        (b'{"a":1,"a":2}', ["duplicate key 'a'"], ["a"]),
        (b'{"a":{"b":1,"b":2}}', ["duplicate key 'b'"], []),
        (b'{"a":NaN}', ["NaN is not JSON"], []),
        (b'{"a":1e400}', ["number 1e400 is beyond the range of a double"], []),
        (b'{"a":"\\ud800"}', ["lone surrogate in a string"], []),
        (b'{"a":"\\ud83d\\ude00"}', [], []),
    ],
)
def test_ambiguities_are_told_and_those_of_the_object_itself_apart(
    line: bytes, problems: list[str], doubled: list[str]
) -> None:
    found = read_members(line)
    assert (found.problems, found.doubled, found.broken) == (problems, doubled, None)


def test_the_bytes_of_a_member_are_those_that_came() -> None:
    found = read_members('{"x": { "é" : "\u2028😀" } , "y":[1.50e3]}'.encode())
    assert found.raw("x") == '{ "é" : "\u2028😀" }'.encode()
    assert found.raw("y") == b"[1.50e3]"
