"""The quick JSON of the guests says what the standard library's says, value for value and refusal for refusal."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.wire.quickjson import dumps, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _result(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What it returns, or the kind of its refusal."""
    try:
        return function(*args, **kwargs)
    except ValueError:
        return ValueError
    except TypeError:
        return TypeError


@given(VALUES)
def test_a_value_is_written_as_json_writes_it_and_read_back(value: Any) -> None:
    expected = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert dumps(value) == expected
    assert dumps(value, ascii_only=True) == json.dumps(value, separators=(",", ":"), allow_nan=False)
    assert loads(expected) == json.loads(expected) == value
    assert loads(json.dumps(value, indent=2)) == value


@given(st.text(alphabet=' \t\n\r{}[]",:0123456789eE+-.truefalsnIityN\\u/\x00é', max_size=20))
def test_any_text_is_read_or_refused_as_json_does(text: str) -> None:
    found, expected = _result(loads, text), _result(json.loads, text)
    both_nan = isinstance(found, float) and isinstance(expected, float) and math.isnan(found) and math.isnan(expected)
    assert both_nan or repr(found) == repr(expected)


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"x", object(), {"deep": {"er": {3}}}])
def test_what_is_not_json_is_refused(value: Any) -> None:
    assert _result(dumps, value) == _result(json.dumps, value, allow_nan=False)
    assert _result(dumps, value) in (ValueError, TypeError)


def test_a_circle_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="Circular"):
        dumps(circle)


def test_bytes_are_utf_8_and_hooks_are_called() -> None:
    assert loads("\u2028é".join('""').encode()) == "\u2028é"
    with pytest.raises(ValueError, match="utf-8"):
        loads(b'"\xff"')
    seen: list[Any] = []
    loads('{"a": 1, "a": NaN, "b": 1.5}', object_pairs_hook=seen.append, parse_constant=str, parse_float=str)
    assert seen == [[("a", 1), ("a", "NaN"), ("b", "1.5")]]


def test_importing_it_imports_neither_json_nor_re() -> None:
    root = str(Path(__file__).parents[2])
    code = (
        f"import sys; sys.path.insert(0, {root!r}); import arci.wire.jsonrpc, arci.guest.link; "
        "print(sorted({'json', 're', 'enum', 'socket', 'hashlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


MALFORMED = ("{", '{"a"', '{"a":1,', '{"a":1,}', '["a', '"\\x"', '"a\\u12"', "{1:2}", "[1 2]", '"a\nb"')


def test_what_is_malformed_is_refused_where_nobody_has_imported_json() -> None:
    """Some interpreters' scanners then have no error to raise."""
    root = str(Path(__file__).parents[2])
    code = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "from arci.wire.quickjson import loads, members\n"
        f"for text in {MALFORMED!r}:\n"
        "    for read in (loads, lambda text: list(members('{\"k\":' + text))):\n"
        "        try:\n"
        "            print(read(text))\n"
        "        except ValueError:\n"
        "            pass\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
