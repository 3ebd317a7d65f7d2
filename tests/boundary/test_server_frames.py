"""What MCP servers write: noise, doubtful answers, requests and notices of their own, all cut at any byte."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_driver import Fleet, server

from arci.boundary.message import Said, Send, Signal
from arci.wire.framing import MAX_LINE_BYTES


def asked(**begin: Any) -> tuple[Fleet, int, int]:
    """A fleet of one, an agent that has called, and the id under which the server was asked."""
    fleet = Fleet().begun(**begin)
    agent = fleet.open("mcp")
    fleet.call(agent, id="mine")
    return fleet, agent, fleet.id("one", "tools/call")


def text_of(fleet: Fleet, agent: int) -> str:
    text: str = fleet.last(agent)["content"][0]["text"]
    return text


def noise_of(fleet: Fleet) -> list[str]:
    return [e["detail"] for e in fleet.events("protocol")]


# Answers


def test_concurrent_calls_are_answered_in_any_order_each_with_its_own_id() -> None:
    fleet = Fleet().begun()
    agent = fleet.open("mcp")
    for id in (1, "1", 0):
        fleet.call(agent, id=id)
    ids = [f["id"] for f in fleet.frames() if f["method"] == "tools/call"]
    assert len(set(ids)) == 3
    for id in reversed(ids):
        fleet.say("one", {"id": id, "result": {"content": [{"type": "text", "text": str(id)}]}})
    assert [(f["id"], f["result"]["content"][0]["text"]) for f in fleet.sent(agent)] == [
        *((0, str(ids[2])), ("1", str(ids[1])), (1, str(ids[0]))),
    ]


@pytest.mark.parametrize(
    "result",
    [
        '{ "content" : [ ] , "zzz":1,"aaa" : 1.50e3 }',
        '{"content":[{"type":"text","text":"a\u2028b\u2029c"}]}',
        '{"content":[{"type":"text","text":"\\u00e9\\/"}],"isError":false}',
        '{"content":[],"n":-0,"m":-0.0,"big":12345678901234567890}',
    ],
)
def test_an_undisturbed_result_reaches_the_agent_byte_for_byte(result: str) -> None:
    fleet, agent, id = asked()
    fleet.raw("one", f'{{"result":{result},"id":{id},"jsonrpc":"2.0"}}\r\n'.encode())
    (sent,) = [a.data for a in fleet.actions if isinstance(a, Send) and a.connection == agent]
    assert result.encode() in sent
    assert json.loads(sent)["id"] == "mine"


@pytest.mark.parametrize("id", ['"{}"', "{}.0", "true", "null", "[{}]", "99{}"])
def test_an_answer_under_an_id_that_only_looks_like_ours_is_none(id: str) -> None:
    fleet, agent, own = asked()
    fleet.raw("one", f'{{"jsonrpc":"2.0","id":{id.format(own)},"result":{{"content":[]}}}}\n'.encode())
    assert fleet.sent(agent) == []
    assert len(noise_of(fleet)) == 1
    fleet.text("the answer")
    assert text_of(fleet, agent) == "the answer"


def test_a_second_answer_is_dropped_and_recorded() -> None:
    fleet, agent, id = asked()
    fleet.text("first")
    fleet.say("one", {"id": id, "result": {"content": [{"type": "text", "text": "second"}]}})
    assert [f["result"]["content"][0]["text"] for f in fleet.sent(agent)] == ["first"]
    assert noise_of(fleet) == [f"server 'one': an answer to {id}, which was not asked"]


def test_any_json_rpc_error_of_a_server_is_data() -> None:
    fleet, agent, _ = asked()
    fleet.result("one", "tools/call", error={"code": -32001, "message": "no such row"})
    assert "no such row" in json.dumps(fleet.sent(agent))
    assert fleet.told("trouble") == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('"result":{{"content":[],"x":NaN}}', "NaN is not JSON"),
        ('"result":{{"content":[],"x":Infinity}}', "Infinity is not JSON"),
        ('"result":{{"content":[],"x":-Infinity}}', "-Infinity is not JSON"),
        ('"result":{{"content":[],"x":1e400}}', "beyond the range of a double"),
        ('"result":{{"content":[],"content":[]}}', "duplicate key 'content'"),
        ('"result":{{"content":[]}},"result":{{}}', "duplicate key 'result'"),
        ('"result":{{"content":[]}},"Result":{{}}', "key 'Result' beside the protocol's own"),
        ('"result":{{"content":[],"x":"\\ud800"}}', "lone surrogate"),
        ('"result":{{}},"error":{{"code":1,"message":"m"}}', "either a result or an error"),
        ('"error":"text"', "error must be an object"),
        ('"other":1', "either a result or an error"),
    ],
)
def test_a_doubtful_answer_fails_its_call_at_once_and_its_bytes_are_kept(answer: str, words: str) -> None:
    fleet, agent, id = asked()
    line = f'{{"jsonrpc":"2.0","id":{id},{answer.format()}}}'.encode()
    fleet.raw("one", line + b"\n")
    assert fleet.last(agent)["isError"] is True
    assert words in text_of(fleet, agent)
    (event,) = fleet.events("protocol")
    assert event["raw"].encode() == line
    assert (event["raw_bytes"], event["raw_sha256"]) == (len(line), hashlib.sha256(line).hexdigest())
    assert [e["ok"] for e in fleet.events("tool_finish")] == [False]


def test_minus_zero_is_a_number_like_any_other() -> None:
    fleet, agent, id = asked()
    fleet.raw("one", b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"result":-0}}}\n' % id)
    assert b'"result":-0}' in [a.data for a in fleet.actions if isinstance(a, Send)][-1]
    assert agent in {a.connection for a in fleet.actions if isinstance(a, Send)}


def test_a_wrong_version_of_json_rpc_is_no_silence() -> None:
    fleet, agent, id = asked()
    fleet.raw("one", b'{"id":%d,"result":{"content":[]}}\n' % id)
    assert 'jsonrpc must be "2.0"' in text_of(fleet, agent)


def test_bytes_that_are_no_utf_8_fail_their_call_at_once() -> None:
    fleet, agent, id = asked()
    fleet.raw("one", b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"x":"\xff"}}\n' % id)
    assert "not UTF-8" in text_of(fleet, agent)


@pytest.mark.parametrize("order", ["head", "tail"])
def test_an_answer_nested_too_deep_fails_its_call_at_once(order: str) -> None:
    fleet, agent, id = asked()
    deep = b"[" * 200 + b"]" * 200
    head, tail = (b'"id":%d,' % id, b"") if order == "head" else (b"", b',"jsonrpc":"2.0","id":%d' % id)
    fleet.raw("one", b"{" + head + b'"result":' + deep + tail + b"}\n")
    assert "nested deeper than 128 levels" in text_of(fleet, agent)


def test_an_answer_about_something_else_than_a_call_fails_with_an_error() -> None:
    fleet = Fleet().begun()
    agent = fleet.open("mcp")
    fleet.ask(agent, 5, "resources/read", uri="x://y")
    fleet.raw("one", b'{"jsonrpc":"2.0","id":%d,"result":{"contents":[NaN]}}\n' % fleet.id("one", "resources/read"))
    assert fleet.last(agent)["code"] == -32603


# Size


@pytest.mark.parametrize("size", [65535, 65536, 65537, MAX_LINE_BYTES])
def test_an_answer_of_any_size_up_to_the_limit_passes_and_so_does_the_next(size: int) -> None:
    fleet, agent, id = asked(budgets={"max_tool_calls": 9})
    frame = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%%s"}]}}' % id
    filler = b"x" * (size - len(frame) + 2)
    fleet.raw("one", frame % filler + b"\n")
    assert len(text_of(fleet, agent)) == len(filler)
    fleet.call(agent, id=2)
    fleet.text("next")
    assert text_of(fleet, agent) == "next"


@pytest.mark.parametrize("order", ["head", "tail", "hidden"])
def test_an_answer_over_the_limit_fails_its_call_and_the_next_one_passes(order: str) -> None:
    fleet, agent, id = asked()
    other = fleet.open("mcp")
    fleet.call(other, id="other")
    own = b'"id":%d' % id
    head, tail = {"head": (own + b",", b""), "tail": (b"", b"," + own), "hidden": (b"", b"," + own + b',"z":0')}[order]
    big = b"x" * MAX_LINE_BYTES
    fleet.raw("one", b"{" + head + b'"result":"' + big + b'"' + tail + b"}\n")
    assert f"over {MAX_LINE_BYTES} bytes" in text_of(fleet, agent)
    assert len(fleet.sent(other)) == (1 if order == "hidden" else 0)
    assert len([d for d in noise_of(fleet) if "over" in d]) == 1
    fleet.call(agent, id=3)
    fleet.text("next")
    assert text_of(fleet, agent) == "next"


def test_an_oversize_notice_fails_no_call() -> None:
    fleet, agent, _ = asked()
    fleet.raw("one", b'{"jsonrpc":"2.0","method":"notifications/message","params":"' + b"x" * MAX_LINE_BYTES + b'"}\n')
    assert fleet.sent(agent) == []
    fleet.text("fine")
    assert text_of(fleet, agent) == "fine"


def test_a_line_without_end_is_cut_fails_its_call_and_kills_the_server() -> None:
    fleet, agent, _ = asked()
    for _ in range(70):
        fleet.raw("one", b"x" * (1 << 20))
    assert fleet.kind_of_finish() == "environment"
    assert Signal("one", 9) in fleet.actions
    assert [t["detail"] for t in fleet.told("trouble")] == ["server 'one' wrote a line that did not end; it was killed"]
    assert len(fleet.sent(agent)) == 1
    fleet.end(how="killed by signal 9")
    assert len(fleet.told("trouble")) == 1
    assert [e["steps"] for e in fleet.events("environment_end")] == [["KILL"]]


# Noise

NOISE = [
    b"Server v1.0 listening",
    b"   ",
    b"\x1b[32mready\x1b[0m",
    b'{"jsonrpc":"2.0","id":',
    b'{"level":"info"}',
    b"[]",
    b"7",
]


def test_noise_is_counted_and_never_an_answer() -> None:
    fleet, agent, _ = asked()
    fleet.raw("one", b"\n".join(NOISE) + b"\r\n\n")
    assert fleet.sent(agent) == []
    fleet.text("the answer")
    assert text_of(fleet, agent) == "the answer"
    assert len(noise_of(fleet)) == len(NOISE) - 1  # a blank line is none
    fleet.agent_gone()
    fleet.due("drain")
    fleet.end()
    assert [e["noise"] for e in fleet.events("environment_end")] == [len(NOISE) - 1]


def test_a_byte_order_mark_before_a_message_is_noted_wherever_it_stands() -> None:
    fleet, agent, id = asked()
    fleet.raw("one", b'\xef\xbb\xbf{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}\n' % id)
    assert fleet.last(agent) == {"content": []}
    assert noise_of(fleet) == ["server 'one': byte order mark before a message"]


@pytest.mark.parametrize("line", ["Loading model... {}", "{}done in 3 s", "{{broken {}", "{} {}"])
def test_an_answer_glued_to_other_output_is_the_environments_error_with_the_line_quoted(line: str) -> None:
    fleet, agent, id = asked()
    answer = f'{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}'
    line = line.replace("{}", answer)
    fleet.raw("one", line.encode() + b"\n")
    assert fleet.told("trouble") == []
    fleet.due("glued")
    (trouble,) = fleet.told("trouble")
    assert (trouble["blame"], trouble["server"]) == ("environment", "one")
    assert line[:60] in trouble["detail"]
    assert fleet.kind_of_finish() == "environment"
    assert len(fleet.sent(agent)) == 1


def test_a_server_that_logs_its_answer_and_then_gives_it_is_merely_noisy() -> None:
    fleet, agent, id = asked()
    answer = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}' % id
    fleet.raw("one", b"DEBUG sending " + answer + b"\n" + answer + b"\n")
    fleet.due("glued")
    assert fleet.last(agent) == {"content": []}
    assert fleet.told("trouble") == []


def test_a_banner_glued_to_the_handshake_is_the_environments_error() -> None:
    fleet = Fleet().start()
    id = fleet.id("one", "server/discover")
    fleet.raw("one", b'Welcome!{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no"}}\n' % id)
    fleet.due("glued")
    assert "Welcome!" in fleet.told("trouble")[0]["detail"]
    assert fleet.told("ready") == []


# What servers say of their own accord


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list", "odd"])
def test_a_request_of_the_server_with_the_number_of_an_open_call_is_refused_and_not_mixed_up(method: str) -> None:
    fleet, agent, id = asked()
    fleet.say("one", {"id": id, "method": method, "params": {}})
    answer = fleet.frames()[-1]
    assert (answer["id"], answer["error"]["code"]) == (id, -32601)
    assert fleet.sent(agent) == []
    assert method in noise_of(fleet)[0]
    fleet.text("mine")
    assert text_of(fleet, agent) == "mine"


def test_a_ping_of_the_server_is_answered() -> None:
    fleet = Fleet().begun()
    fleet.say("one", {"id": "p", "method": "ping"})
    assert fleet.frames()[-1] == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert noise_of(fleet) == []


@pytest.mark.parametrize("id", ["null", "1.5", "true", "[]"])
def test_a_request_of_the_server_with_an_odd_id_is_noise(id: str) -> None:
    fleet = Fleet().begun()
    before = len(fleet.frames())
    fleet.raw("one", b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % id.encode())
    assert (len(fleet.frames()), len(noise_of(fleet))) == (before, 1)


def test_notices_of_a_server_are_recorded_up_to_a_cap() -> None:
    fleet = Fleet().begun()
    for _ in range(1005):
        fleet.say("one", {"method": "notifications/tools/list_changed"})
    events = fleet.events("notification")
    assert len(events) == 1000
    assert (events[0]["server"], events[0]["method"]) == ("one", "notifications/tools/list_changed")


def with_progress(fleet: Fleet) -> tuple[int, int]:
    agent = fleet.open("mcp")
    fleet.ask(agent, 1, "tools/call", name="get", arguments={}, _meta={"progressToken": "mine"})
    return agent, fleet.id("one", "tools/call")


def test_progress_reaches_the_agent_under_its_own_token_before_the_answer() -> None:
    fleet = Fleet().begun()
    agent, id = with_progress(fleet)
    assert fleet.frames()[-1]["params"]["_meta"] == {"progressToken": id}
    for n in range(3):
        fleet.say("one", {"method": "notifications/progress", "params": {"progressToken": id, "progress": n}})
    fleet.text("done")
    found = fleet.sent(agent)
    assert [f.get("params", {}).get("progress") for f in found] == [0, 1, 2, None]
    assert {f["params"]["progressToken"] for f in found[:3]} == {"mine"}


def test_progress_after_the_answer_is_recorded_and_kept_from_the_agent() -> None:
    fleet = Fleet().begun()
    agent, id = with_progress(fleet)
    fleet.text("done")
    fleet.say("one", {"method": "notifications/progress", "params": {"progressToken": id, "progress": 1}})
    assert len(fleet.sent(agent)) == 1
    assert "of a request that is over" in noise_of(fleet)[0]


@pytest.mark.parametrize("token", ["made up", 4711, True, 1.5, None])
def test_progress_with_a_made_up_token_is_recorded_and_kept_from_the_agent(token: Any) -> None:
    fleet = Fleet().begun()
    agent, _ = with_progress(fleet)
    fleet.say("one", {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
    assert fleet.sent(agent) == []
    assert "a token that was not given to it" in noise_of(fleet)[0]
    fleet.text("done")
    assert text_of(fleet, agent) == "done"


# Time


def test_a_call_without_an_answer_in_time_is_cancelled_once_and_a_late_one_given_to_nobody() -> None:
    fleet, agent, id = asked(budgets={"tool_seconds": 3})
    fleet.due("request")
    assert fleet.kind_of_finish() == "timeout"
    notice = fleet.frames()[-1]
    assert (notice["method"], notice["params"]["requestId"]) == ("notifications/cancelled", id)
    fleet.call(agent, id=2)
    fleet.say("one", {"id": id, "result": {"content": [{"type": "text", "text": "late"}]}})
    assert len(fleet.sent(agent)) == 1
    assert [e["value"] for e in fleet.events("tool_late")] == ["late"]


def test_a_cancelled_call_is_cancelled_at_the_server_once_and_its_answer_is_late() -> None:
    fleet, agent, id = asked()
    for _ in range(2):
        fleet.send(agent, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mine"}}\n')
    notices = [f for f in fleet.frames() if f["method"] == "notifications/cancelled"]
    assert [n["params"]["requestId"] for n in notices] == [id]
    fleet.say("one", {"id": id, "result": {"content": [{"type": "text", "text": "late"}]}})
    assert fleet.sent(agent) == []
    assert len(fleet.events("tool_late")) == 1


# Cuts


def conversation(fleet: Fleet) -> bytes:
    """Everything that one server says in a trial with two calls."""
    first, second = (f["id"] for f in fleet.frames() if f["method"] == "tools/call")
    return b"".join(
        [
            b"banner \xc3\xa9\r\n\xef\xbb\xbf",
            b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"\xe2\x80\xa8"}}\n\n',
            b'{"jsonrpc":"2.0","id":"p","method":"ping"}\n{"half":\n',
            b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"x":NaN}}\n' % second,
            b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xf0\x9f\x98\x80"}]}}\n' % first,
            b'{"jsonrpc":"2.0","id":%d,"result":{}}\n{"unfinished' % first,
        ]
    )


def heard(cuts: list[int]) -> list[Any]:
    """What came of the conversation, cut at these places."""
    fleet = Fleet(server(), server("two")).begun()
    agent = fleet.open("mcp", "a one")
    fleet.ask(agent, 1, "tools/call", name="one.get", arguments={})
    fleet.ask(agent, 2, "tools/call", name="one.put", arguments={})
    stream = conversation(fleet)
    before = len(fleet.actions)
    for start, end in pairwise([0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]):
        fleet.handle(Said("one", stream[start:end]))
    return fleet.actions[before:]


WHOLE = heard([])


def test_the_whole_conversation_has_come_to_something() -> None:
    assert len(WHOLE) > 8


def test_a_cut_at_any_byte_changes_nothing() -> None:
    for cut in range(600):
        assert heard([cut]) == WHOLE


@given(st.lists(st.integers(0, 600), max_size=40))
def test_many_cuts_change_nothing(cuts: list[int]) -> None:
    assert heard(cuts) == WHOLE
