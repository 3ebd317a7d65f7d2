"""What two readers could take differently is told whole, whatever else stands beside it."""

from __future__ import annotations

import pytest

from arci.wire.strict import read, read_members

NAN, SURROGATE = "NaN is not JSON", "lone surrogate in a string"


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        (b'{"x":NaN,"y":"\\ud83d\\ude00"}', [NAN]),
        (b'{"x":NaN,"y":"\\ud83d"}', [NAN, SURROGATE]),
        (b'{"x":[NaN,{"\\uDE00":[]}]}', [NAN, SURROGATE]),
        (b'{"x":1e999,"y":"\\\\ud83d"}', ["number 1e999 is beyond the range of a double"]),
        (b'{"x":[[{"y":["\\uDBFF"]}]]}', [SURROGATE]),
        (b'{"x":"\\ud83d\\ude00","\\uD83D\\uDE00":1}', []),
    ],
)
def test_numbers_that_json_has_not_hide_no_surrogate_and_break_nothing(line: bytes, problems: list[str]) -> None:
    assert read(line)[1] == problems
    found = read_members(line)
    assert (found.problems, found.broken) == (problems, None)
