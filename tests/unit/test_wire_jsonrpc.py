"""What a line is taken for, and what is refused: ids, batches, ambiguity, shape."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arci.wire import jsonrpc, strict
from arci.wire.hello import address, hello_line, read_hello
from arci.wire.jsonrpc import Bad, Notification, Request, Response, parse
from arci.wire.line_head import read_head


def line(**frame: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **frame}).encode()


def bad(raw: bytes) -> Bad:
    frame = parse(raw)
    assert isinstance(frame, Bad), frame
    return frame


@pytest.mark.parametrize("id", [0, -1, 2**53, -(2**53), "", "0", "ü"])
def test_an_id_keeps_its_type(id: Any) -> None:
    frame = parse(line(id=id, method="ping"))
    assert isinstance(frame, Request)
    assert (frame.id, type(frame.id), frame.params) == (id, type(id), {})
    assert json.loads(jsonrpc.result_line(frame.id, {})) == {"jsonrpc": "2.0", "id": id, "result": {}}


@pytest.mark.parametrize("raw", ["null", "1.0", "true", str(2**53 + 1), "[1]", "{}", "1e3"])
def test_a_bad_id_is_refused_and_not_echoed(raw: str) -> None:
    refused = bad(b'{"jsonrpc":"2.0","method":"ping","id":' + raw.encode() + b"}")
    assert (refused.code, refused.id) == (jsonrpc.INVALID_REQUEST, None)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"nul", b"\xff\xfe", b'{"a":}', b"{'a':1}", b'"\xed\xa0\x80"', b"1" * 5000, b'{"a":"\x01"}'],
)
def test_what_is_no_json_is_a_parse_error(raw: bytes) -> None:
    assert bad(raw).code == jsonrpc.PARSE_ERROR


@pytest.mark.parametrize("raw", [b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"1", b'"x"', b"null"])
def test_a_batch_or_a_bare_value_is_refused(raw: bytes) -> None:
    assert bad(raw).code == jsonrpc.INVALID_REQUEST


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}', "duplicate key 'method'"),
        ('{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":{"y":1,"y":2}}}', "duplicate key 'y'"),
        ('{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}}', "NaN"),
        ('{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":-Infinity}}', "-Infinity"),
        ('{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1e400}}', "1e400"),
        ('{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"\\ud800"}}', "lone surrogate"),
        ('{"jsonrpc":"2.0","id":1,"method":"a","params":{"\\uDFFF":1}}', "lone surrogate"),
        ('{"jsonrpc":"2.0","id":1,"method":"a","Method":"b"}', "'Method'"),
    ],
)
def test_what_two_readers_could_take_differently_is_refused_under_its_id(raw: str, word: str) -> None:
    refused = bad(raw.encode())
    assert (refused.code, refused.id) == (jsonrpc.INVALID_REQUEST, 1)
    assert word in refused.detail


def test_an_id_that_is_itself_ambiguous_is_not_echoed() -> None:
    assert bad(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}').id is None
    assert bad(b'{"jsonrpc":"2.0","id":"\\ud800","method":"a"}').id is None


def test_surrogate_pairs_line_separators_and_minus_zero_are_ordinary() -> None:
    frame = parse('{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"\\ud83d\\ude00\u2028\u2029","y":-0.0}}'.encode())
    assert isinstance(frame, Request)
    assert frame.params["x"] == "😀\u2028\u2029"
    assert str(frame.params["y"]) == "-0.0"


@pytest.mark.parametrize(
    "frame",
    [
        {"method": 5},
        {"id": 1, "method": "a", "params": [1]},
        {"id": 1, "method": "a", "params": None},
        {"id": 1},
        {"id": 1, "result": 1, "error": {}},
        {"id": 1, "error": "text"},
        {"result": 1},
    ],
)
def test_a_frame_that_is_neither_request_nor_answer_is_refused(frame: dict[str, Any]) -> None:
    assert bad(line(**frame)).code == jsonrpc.INVALID_REQUEST


def test_another_version_is_refused() -> None:
    assert bad(b'{"jsonrpc":"1.0","id":3,"method":"a"}').id == 3
    assert bad(b'{"id":3,"method":"a"}').id == 3


def test_notifications_and_answers_are_told_apart() -> None:
    notification, answer = parse(line(method="n", params={"a": 1})), parse(line(id="x", result=None))
    assert isinstance(notification, Notification)
    assert isinstance(answer, Response)
    failed = parse(line(id=None, error={"code": 1}))
    assert isinstance(failed, Response)
    assert (answer.error, failed.error) == (None, {"code": 1})


def test_nesting_is_refused_before_it_is_parsed() -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":' + b"[" * 200 + b"]" * 200 + b"}}"
    assert "deeper than 128" in bad(deep).detail
    assert "deeper" in bad(b"[" * 150_000).detail
    assert "arrays and objects" in bad(b"[" * 8_000_000).detail
    assert "strings" in bad(b"[" + b'"",' * 2_700_000 + b'""]').detail


def test_brackets_within_strings_are_no_nesting() -> None:
    text = '[{"' * 1000 + "\\"
    frame = parse(line(id=1, method="a", params={"text": text, "deep": [[[]]] * 60}))
    assert isinstance(frame, Request)
    assert frame.params["text"] == text


@given(
    st.recursive(
        st.none() | st.text(st.sampled_from('[]{}"\\a')), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_the_scan_sees_the_depth_that_a_parser_sees(value: Any) -> None:
    def depth(v: Any) -> int:
        inner = v.values() if isinstance(v, dict) else v if isinstance(v, list) else ()
        return (1 if isinstance(v, (dict, list)) else 0) + max(map(depth, inner), default=0)

    brackets = strict._brackets(json.dumps(value, ensure_ascii=False).encode())
    true_depth = depth(value)
    assert not strict._is_deeper(brackets, true_depth)
    assert true_depth == 0 or strict._is_deeper(brackets, true_depth - 1)


@given(st.binary(max_size=300))
def test_no_bytes_make_the_parser_raise(raw: bytes) -> None:
    assert isinstance(parse(raw), (Bad, Request, Notification, Response))


def test_what_is_sent_strictly_is_what_a_strict_reader_takes() -> None:
    assert jsonrpc.encode_strict({"a": "\u2028"}, 100) == '{"a":"\u2028"}\n'.encode()
    nested: Any = 0
    for _ in range(200):
        nested = [nested]
    for value in (float("nan"), "\ud800", "x" * 100, nested):
        with pytest.raises(ValueError, match=r".+"):
            jsonrpc.encode_strict({"a": value}, 100)
    with pytest.raises(TypeError):
        jsonrpc.encode_strict({"a": {1, 2}}, 100)


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    assert jsonrpc.encode({"a": "\ud800"}) == b'{"a":"\\ud800"}\n'


def hello(line: bytes) -> tuple[str, str | None] | None:
    tokens = {"worker": "secret", "status": "other", "mcp": "secret", "environment": "third"}
    found = read_hello(line.rstrip(b"\n"), tokens)
    return None if found is None else (found.kind, found.server)


def test_a_hello_needs_the_token_of_its_own_kind() -> None:
    assert hello(hello_line("worker", "secret")) == ("worker", None)
    wrong_lines = [
        *(b"ARCI worker other", b"ARCI worker", b"ARCI worker secret x", b"ARCI mcp other", b"arci worker secret"),
        *(b"GET / HTTP/1.1", b"", b"ARCI worker \xff", b"ARCI \xff secret", b"ARCI status other x", b"ARCI odd secret"),
    ]
    for wrong in wrong_lines:
        assert hello(wrong) is None


def test_some_hellos_name_a_server() -> None:
    assert hello(hello_line("mcp", "secret")) == ("mcp", None)
    assert hello(hello_line("mcp", "secret", "shop")) == ("mcp", "shop")
    assert hello(hello_line("environment", "third", "shop")) == ("environment", "shop")
    assert hello(b"ARCI environment third") is None
    assert hello(b"ARCI mcp secret a b") is None


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"e\\"x","arg', (3, "tools/call", 'e"x')),
        (b' {"method" : "ping", "id" : "a\\\\" , "jsonrpc": "2.0", "params": {"x', ("a\\", "ping", None)),
        (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{"name":"x"', (3, "tools/call", None)),
        (b'{"jsonrpc":"2.0","method":"a","params":[', (None, "a", None)),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"a","params":', (None, None, None)),
        (b'{"jsonrpc":"2.0","id":9007199254740993,"method":"a","params":', (None, "a", None)),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","params":', (None, None, None)),
        (b'{"jsonrpc":"1.0","id":1,"method":"a","params":', (None, None, None)),
        (b'{"params":{"jsonrpc":"2.0","id":1,"method":"a","params":', (None, None, None)),
        (b'{"jsonrpc":"2.0","method":"a","id":12', (None, "a", None)),
        (b'["jsonrpc"', (None, None, None)),
        (b"", (None, None, None)),
    ],
)
def test_a_head_shows_what_stands_before_its_params(head: bytes, shown: tuple[Any, ...]) -> None:
    found = read_head(head)
    assert (found.id, found.method, found.tool) == shown


@given(st.binary(max_size=80) | st.text(st.sampled_from('{}[]:,"\\ 1ae'), max_size=80).map(str.encode))
def test_no_head_breaks_its_reader(head: bytes) -> None:
    assert read_head(b'{"jsonrpc":"2.0",' + head) is not None


def test_a_result_can_be_spliced_in_as_it_is() -> None:
    assert (
        jsonrpc.spliced_line("\u2028", b'{"a": 1.0}')
        == '{"jsonrpc":"2.0","id":"\u2028","result":{"a": 1.0}}\n'.encode()
    )


def test_an_error_may_carry_data() -> None:
    assert json.loads(jsonrpc.error_line(None, -1, "m", [1]))["error"] == {"code": -1, "message": "m", "data": [1]}
    assert "data" not in json.loads(jsonrpc.error_line(1, -1, "m"))["error"]


def test_addresses_are_read_or_refused() -> None:
    assert address("unix:/run/s") == ("unix", "/run/s")
    assert address("tcp:127.0.0.1:80") == ("tcp", ("127.0.0.1", 80))
    for wrong in ("unix:run", "tcp:80", "tcp::80", "tcp:h:99999", "http://x", ""):
        with pytest.raises(ValueError, match="unix:/path or tcp:HOST:PORT"):
            address(wrong)
