"""The strict YAML reader: what is a number, what is refused, and where."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.manifest.scalars import resolve
from arci.manifest.strict_yaml import MAX_BYTES, MAX_DEPTH, MAX_NODES, read_yaml


def plain(text: str) -> Any:
    node, notes = read_yaml(text.encode())
    assert node is not None
    assert notes == []
    return node.plain()


def complaints(data: bytes) -> list[tuple[int, str]]:
    _, notes = read_yaml(data)
    return [(note.line, note.message) for note in notes]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("yes", "yes"),
        ("off", "off"),
        ("null", None),
        ("~", None),
        ("1e-06", 1e-06),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("-7", -7),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("18446744073709551615", 2**64 - 1),
        ('"8"', "8"),
        ("'true'", "true"),
        ("!!str 8", "8"),
        ("! 8", "8"),
        (r'"\ud83d\ude00"', "\U0001f600"),
    ],
)
def test_a_scalar_means_what_it_looks_like(text: str, value: Any) -> None:
    found = plain(f"x: {text}\n")["x"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [".nan", ".inf", "-.INF", "NaN", "-Infinity", "1e999", "012", "9" * 5000, str(2**64), r'"\ud800"'],
)
def test_a_value_that_is_no_finite_unambiguous_one_is_refused_on_its_line(text: str) -> None:
    ((line, _),) = complaints(f"a: 1\nx: {text}\n".encode())
    assert line == 2


def test_a_duplicate_key_is_refused_with_line_and_column_and_the_first_one() -> None:
    ((line, message),) = complaints(b"a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert line == 4
    assert message.startswith("column 3: key 'b' is given twice (first on line 2)")


def test_several_duplicates_are_all_told() -> None:
    assert [line for line, _ in complaints(b"a: 1\na: 2\nb: 1\nb: 2\n")] == [2, 4]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"# nothing\n", "empty"),
        (b"a: 1\n---\nb: 2\n", "second document"),
        (b"a: \xff\n", "not UTF-8"),
        ("a: 1".encode("utf-16"), "UTF-16"),
        (b"a: \x07\n", "U+0007"),
        (b"a: [1, 2\n", "not valid YAML"),
        (b'a: "\\U00110000"\n', "not valid YAML"),
        (b"1: x\n", "not text"),
        (b"null: x\n", "not text"),
        (b"? [a]\n: x\n", "only text"),
        (b"x: &a {b: 1}\ny: {<<: *a}\n", "merge keys"),
        (b"x: !!python/object:os.system {}\n", "tag"),
        (b"x: !!binary aGk=\n", "tag"),
        (b"x: *nowhere\n", "names no anchor"),
        (b"x: &a [*a]\n", "names no anchor"),
        (b"[" * 5000, "deeper"),
        (b"x: " + b"a" * MAX_BYTES, "bytes long"),
    ],
)
def test_a_document_that_cannot_be_meant_is_refused_and_says_why(data: bytes, words: str) -> None:
    assert any(words in message for _, message in complaints(data))


def test_a_byte_order_mark_is_accepted() -> None:
    assert read_yaml(b"\xef\xbb\xbfa: 1\n")[0] is not None


def test_a_quoted_merge_key_is_ordinary_text() -> None:
    assert plain("{'<<': 1}") == {"<<": 1}


def test_an_alias_repeats_its_value() -> None:
    assert plain("a: &x {b: [1]}\nc: *x\n") == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_aliases_that_multiply_are_stopped_before_they_fill_memory() -> None:
    levels = ["l0: &l0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    levels += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 12)]
    ((_, message),) = complaints("\n".join(levels).encode())
    assert f"more than {MAX_NODES}" in message


def test_aliases_cannot_nest_beyond_the_depth() -> None:
    chain = ["l0: &l0 [1]"] + [f"l{n}: &l{n} [*l{n - 1}]" for n in range(1, MAX_DEPTH + 2)]
    ((_, message),) = complaints("\n".join(chain).encode())
    assert "deeper" in message


def test_every_node_knows_the_line_of_its_key() -> None:
    node, _ = read_yaml(b"a:\n  b:\n    - x\n    - c: 1\n")
    assert node is not None
    inner = node.value["a"].value["b"]
    assert (node.value["a"].line, inner.line, inner.value[1].line, inner.value[1].value["c"].line) == (1, 2, 4, 4)


@given(st.integers(min_value=-(2**63), max_value=2**64 - 1))
def test_every_integer_of_64_bits_comes_back(value: int) -> None:
    assert resolve(str(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_double_that_python_writes_comes_back(value: float) -> None:
    found = resolve(repr(value))
    assert isinstance(found, float)
    assert found == value
    assert math.copysign(1, found) == math.copysign(1, value)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    node, notes = read_yaml(data)
    assert node is not None or notes
