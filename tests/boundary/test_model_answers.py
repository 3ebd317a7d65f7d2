"""What is read out of answers, whole or as streams cut anywhere, and of what is no answer at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from upstream_driver import body_of

from arci.boundary.anthropic_answers import read as read_anthropic
from arci.boundary.model_answer import ModelAnswer
from arci.boundary.openai_answers import read as read_openai
from arci.wire.sse import data_of, split_events

STOCK = {"name": "get_stock", "arguments": {"sku": "widget"}}
USAGE = {"input_tokens": 82, "output_tokens": 34, "cached_input_tokens": 64}
ALL = [
    ("chat", "openai-chat", [STOCK, {"name": "get_price", "arguments": '{"sku":'}]),
    ("responses", "openai-responses", [STOCK]),
    ("messages", "anthropic-messages", [STOCK]),
]


def read(route: str, data: bytes, streams: bool) -> ModelAnswer:
    return read_anthropic(data, streams) if route == "messages" else read_openai(route, data, streams)


@pytest.mark.parametrize(("route", "name", "calls"), ALL)
@pytest.mark.parametrize("streams", [False, True])
def test_whole_or_streamed_an_answer_says_the_same(route: str, name: str, calls: Any, streams: bool) -> None:
    answer = read(route, body_of(name + (".sse" if streams else ".json")), streams)
    assert (answer.is_whole, answer.error, answer.text) == (True, None, "Let me look.")
    assert (answer.tool_calls, answer.usage) == (calls, USAGE)
    assert answer.model in ("gpt-4o-2024-08-06", "claude-sonnet-4-20250514")


@pytest.mark.parametrize(("route", "name", "calls"), ALL)
def test_every_beginning_of_a_stream_is_read_as_far_as_it_goes(route: str, name: str, calls: Any) -> None:
    whole = body_of(f"{name}.sse")
    found = [read(route, whole[:end], True) for end in range(len(whole) + 1)]
    assert [a.is_whole for a in found] == sorted(a.is_whole for a in found)
    assert [len(a.text) for a in found] == sorted(len(a.text) for a in found)
    assert all("Let me look.".startswith(a.text) for a in found)
    assert not read(route, whole[: len(whole) // 2], True).is_whole


def test_crlf_and_comments_and_events_without_data_are_tolerated() -> None:
    stream = body_of("openai-text.sse").replace(b"\n", b"\r\n")
    answer = read_openai("chat", b": keep-alive\r\n\r\n" + stream, True)
    assert (answer.text, answer.is_whole) == ("Hello, wörld 🌍", True)


def test_several_choices_and_refusals_are_all_text() -> None:
    body = b'{"choices":[{"message":{"content":"a"}},{"message":{"content":null,"refusal":"no"}}]}'
    assert read_openai("chat", body, False).text == "a\nno"


def test_older_and_custom_tools_are_tool_calls_too() -> None:
    old = b'{"choices":[{"message":{"function_call":{"name":"f","arguments":"{}"}}}]}'
    custom = b'{"choices":[{"message":{"tool_calls":[{"type":"custom","custom":{"name":"g","input":"x"}}]}}]}'
    assert read_openai("chat", old, False).tool_calls == [{"name": "f", "arguments": {}}]
    assert read_openai("chat", custom, False).tool_calls == [{"name": "g", "arguments": {"input": "x"}}]


def test_an_anthropic_stream_that_breaks_off_with_an_error_says_so() -> None:
    error = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    stream = body_of("anthropic-messages.sse")[:900] + b"\n\nevent: error\ndata: " + error + b"\n\n"
    answer = read_anthropic(stream, True)
    assert (answer.error, answer.is_whole) == ("Overloaded", False)


KEYS = [
    *("choices", "message", "delta", "content", "usage", "type", "output", "index", "tool_calls", "function", "error"),
    *("item", "response", "content_block"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(KEYS), v),
    max_leaves=12,
)
TYPES = st.sampled_from(
    [
        *("message_start", "content_block_start", "content_block_delta", "message_delta", "error"),
        *("response.completed", "response.output_item.done", "x"),
    ]
)
PIECES = st.sampled_from([b"data: x\n", b"\n", b"\r\n", b": c\n", b"event: e\r\n", b"data:y"])


@given(value=JSON, kind=TYPES, route=st.sampled_from(["chat", "responses", "embeddings", "messages"]))
def test_no_shape_of_json_breaks_the_reader(value: Any, kind: str, route: str) -> None:
    whole = json.dumps(value).encode()
    event = json.dumps({**(value if isinstance(value, dict) else {"x": value}), "type": kind}).encode()
    for answer in (read(route, whole, False), read(route, b"data: " + event + b"\n\n", True)):
        assert isinstance(answer.text, str)
        json.dumps(answer.tool_calls, allow_nan=False)


@given(data=st.binary(max_size=200), streams=st.booleans())
def test_no_bytes_break_the_reader(data: bytes, streams: bool) -> None:
    for route in ("chat", "responses", "embeddings", "messages"):
        assert isinstance(read(route, data, streams).is_whole, bool)


@given(data=st.lists(PIECES).map(b"".join))
def test_events_and_what_is_left_are_the_stream(data: bytes) -> None:
    events, rest = split_events(data)
    assert b"".join(events) + rest == data
    assert all(event.endswith((b"\n\n", b"\n\r\n")) or event in (b"\n", b"\r\n") for event in events)


def test_the_data_of_an_event_is_its_data_lines() -> None:
    assert data_of(b"event: e\r\ndata: a\r\ndata:b\r\nid: 1\r\n\r\n") == "a\nb"
    assert data_of(b": ping\n\n") == ""
    assert data_of("data: a\u2028b\n\n".encode()) == "a\u2028b"
