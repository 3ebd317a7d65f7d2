"""Frames that two readers could take differently, and peers that die, as real processes. Row -> test:

N61 ids -> test_an_id_comes_back_with_its_own_type_or_is_refused, test_an_answer_under_another_type_of_id_is_none.
N62 calls that are given up -> test_a_cancelled_call_is_cancelled_once_and_its_late_answer_given_to_nobody,
test_a_call_that_is_given_up_without_a_word_is_recorded_as_no_cancellation.
N63 progress after the answer -> test_progress_after_the_answer_is_recorded_and_harms_nothing.
N64 made-up progress tokens -> test_a_made_up_progress_token_is_recorded_and_kept_from_the_agent.
N65 batches -> test_a_batch_is_refused_in_words_and_nothing_of_it_is_executed.
N66 eras -> test_a_client_of_either_era_calls_a_server_of_either and
test_a_probe_is_answered_while_the_server_still_starts.
N67 requests of a server -> test_a_request_of_the_server_with_the_number_of_the_open_call_is_refused_apart_from_it.
N68 a death in mid-call -> test_a_server_killed_in_mid_call_fails_the_call_with_its_status_and_last_words and, in
containers, test_a_server_that_is_killed_in_mid_call_is_explained_in_the_record.
N69 who ignores its end -> in containers, test_a_server_that_ignores_its_end_is_gone_with_its_trial.
N70 much progress and a large answer ->
test_a_thousand_notices_and_a_large_answer_reach_a_client_that_reads_slowly_in_their_order.
N71 numbers that JSON has not -> test_a_number_that_json_has_not_fails_the_call_and_its_bytes_are_kept and, of a
client, test_a_doubtful_call_is_refused_and_not_executed.
N72 keys that stand twice -> test_a_doubtful_call_is_refused_and_not_executed,
test_a_doubtful_answer_fails_its_call_at_once_and_its_bytes_are_kept.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from small_host import Client, Recorder, result_of
from told_server import ANSWER, answer, begun, client, defined, heard, say, told

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}\n'


def test_every_test_that_the_rows_name_is_there() -> None:
    named, missing = defined(__doc__)
    assert (len(named), missing) == (17, set())


def protocol(recorder: Recorder) -> list[str]:
    return [event["detail"] for event in recorder.events("protocol")]


def counted(agent: Client) -> Any:
    """The next frame is the answer of `ANSWER`; its id."""
    frame = agent.frame()
    assert frame["result"]["structuredContent"] == {"n": 1}, frame
    return frame["id"]


# N61


@pytest.mark.parametrize(
    ("id", "is_good"),
    [
        *(("0", True), ("-1", True), ('"0"', True), ('""', True), ('"\u00fc\u2028"', True), ("9007199254740992", True)),
        *(("9007199254740993", False), ("1.0", False), ("null", False), ("true", False), ("[1]", False)),
    ],
)
def test_an_id_comes_back_with_its_own_type_or_is_refused(bench: Any, id: str, is_good: bool) -> None:
    recorder = bench.ready()
    agent = recorder.connect()
    agent.send(f'{{"jsonrpc":"2.0","id":{id},"method":"ping"}}\n'.encode())
    told = agent.line().decode()
    if is_good:
        assert told == f'{{"jsonrpc":"2.0","id":{id},"result":{{}}}}\n'
    else:
        assert (json.loads(told)["id"], json.loads(told)["error"]["code"]) == (None, -32600)
    recorder.finish()
    assert len(protocol(recorder)) == (not is_good)


def test_an_answer_under_another_type_of_id_is_none(bench: Any) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    say(agent, answer('{"content":[]}', '"<id>"'), answer('{"content":[]}', "<id>.0"), ANSWER, id="1")
    say(agent, ANSWER, id=1)
    assert [counted(agent), counted(agent)] == ["1", 1]
    recorder.finish()
    assert len(protocol(recorder)) == 2


# N62


def test_a_cancelled_call_is_cancelled_once_and_its_late_answer_given_to_nobody(bench: Any) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    say(agent, id="slow")
    for _ in range(2):
        agent.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}\n')
    say(agent, answer(id="<0>"), ANSWER, id="next")
    assert counted(agent) == "next"
    (call, _), (cancel,) = heard(agent, "tools/call")[:2], heard(agent, "notifications/cancelled")
    assert cancel["params"]["requestId"] == call["id"]
    recorder.finish()
    (late,), (cancelled,) = recorder.events("tool_late"), recorder.events("cancelled")
    assert late["call_id"] == cancelled["call_id"] == recorder.events("tool_start")[0]["call_id"]


def test_a_call_that_is_given_up_without_a_word_is_recorded_as_no_cancellation(bench: Any) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    say(agent, id="slow")
    say(agent, answer(id="<0>"), ANSWER, id="next")
    assert {counted(agent), counted(agent)} == {"slow", "next"}
    assert heard(agent, "notifications/cancelled") == []
    recorder.finish()
    assert recorder.events("cancelled", "tool_late") == []


# N63, N64


def test_progress_after_the_answer_is_recorded_and_harms_nothing(bench: Any) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    say(agent, PROGRESS % "<token>", ANSWER, PROGRESS % "<token>", progressToken="mine")
    assert agent.frame()["params"] == {"progressToken": "mine", "progress": 1}
    assert counted(agent) == 1
    say(agent, ANSWER, id=2)
    assert counted(agent) == 2
    recorder.finish()
    assert ["of a request that is over" in detail for detail in protocol(recorder)] == [True]


@pytest.mark.parametrize("token", ['"made up"', "4711", '"<token>"'])
def test_a_made_up_progress_token_is_recorded_and_kept_from_the_agent(bench: Any, token: str) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    say(agent, *(PROGRESS % token for _ in range(157)), ANSWER, progressToken=5)
    assert counted(agent) == 1
    recorder.finish()
    assert len(protocol(recorder)) == 100  # then a last word, that there were more
    assert "a token that was not given to it" in protocol(recorder)[0]


# N65

FIRST = '{"jsonrpc":"2.0","id":1,CALL}'


@pytest.mark.parametrize("second", [FIRST.replace(":1", ":2"), '{"jsonrpc":"2.0","method":"notifications/x"}', None])
def test_a_batch_is_refused_in_words_and_nothing_of_it_is_executed(bench: Any, second: str | None) -> None:
    call = '"method":"tools/call","params":{"name":"reserve","arguments":{"order_id":"o","sku":"s","quantity":1}}'
    items = [] if second is None else [part.replace("CALL", call) for part in (FIRST, second)]
    recorder = bench.ready()
    agent = recorder.connect()
    agent.send(b"[" + ",".join(items).encode() + b"]\n")
    refused = agent.frame()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert "batches" in refused["error"]["message"]
    assert result_of(agent.call("echo", value=1)) == 1
    assert recorder.finish()["reservations"] == {}
    assert [e["tool"] for e in recorder.events("tool_start")] == ["echo"]


# N66


@pytest.mark.parametrize("client_era", ["legacy", "modern"])
@pytest.mark.parametrize("server_era", ["legacy", "modern", "legacy+modern"])
def test_a_client_of_either_era_calls_a_server_of_either(bench: Any, server_era: str, client_era: str) -> None:
    recorder = begun(bench, told(bench, server_era))
    agent = client(recorder)
    meta = {"_meta": ENVELOPE} if client_era == "modern" else {}
    if client_era == "legacy":
        agent.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "c"})
        assert agent.frame()["result"]["protocolVersion"] == "2025-06-18"
    agent.ask(1, "tools/list", **meta)
    assert [tool["name"] for tool in agent.frame()["result"]["tools"]] == ["say", "heard"]
    kind = '"resultType":"complete",' if "modern" in server_era else ""
    agent.ask(2, "tools/call", name="say", arguments={"say": [answer(f'{{{kind}"content":[]}}')]}, **meta)
    result = agent.frame()["result"]
    assert result["content"] == []
    assert result.get("resultType") == (None if client_era == "legacy" else "complete")
    ready = next(f for f in recorder.frames if f["type"] == "ready")
    assert [s["era"] for s in ready["servers"]] == [server_era.rpartition("+")[2]]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_probe_is_answered_while_the_server_still_starts(bench: Any, era: str) -> None:
    fifo = bench.directory / "fifo"
    os.mkfifo(fifo)
    recorder = bench.recorder(toolset=None)
    recorder.begin(servers=[told(bench, era, str(fifo))])
    recorder.say(type="nonsense")
    recorder.until("trouble", blame="harness")  # by now it listens
    agent = client(recorder)
    agent.ask(1, "server/discover", _meta=ENVELOPE)
    assert agent.frame()["result"]["supportedVersions"] == ["2026-07-28"]
    old = client(recorder)
    old.ask(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "c"})
    assert old.frame()["result"]["protocolVersion"] == "2025-11-25"
    assert "ready" not in [f["type"] for f in recorder.frames]
    say(old, ANSWER)  # waits
    Path(fifo).open("w").close()
    assert counted(old) == 1


# N67


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list"])
def test_a_request_of_the_server_with_the_number_of_the_open_call_is_refused_apart_from_it(
    bench: Any, method: str
) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    say(agent, f'{{"jsonrpc":"2.0","id":<id>,"method":"{method}","params":{{}}}}\n', ANSWER)
    assert counted(agent) == 1
    (refused,) = heard(agent, None)
    assert refused["error"]["code"] == -32601
    assert refused["id"] == heard(agent, "tools/call")[0]["id"]
    recorder.finish()
    assert [method in detail for detail in protocol(recorder)] == [True]


# N71, N72


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_a_number_that_json_has_not_fails_the_call_and_its_bytes_are_kept(bench: Any, number: str) -> None:
    recorder = begun(bench)
    agent = client(recorder)
    say(agent, answer(f'{{"content":[],"structuredContent":{{"x":{number},"text":"\\ud83d\\ude00"}}}}'))
    assert agent.frame()["result"]["isError"] is True
    say(agent, answer('{"content":[],"structuredContent":{"x":-0,"y":-0.0}}'))
    assert b'"structuredContent":{"x":-0,"y":-0.0}' in agent.line()
    recorder.finish()
    (event,) = recorder.events("protocol")
    assert f'"x":{number}' in event["raw"]
    assert [e["ok"] for e in recorder.events("tool_finish")] == [False, True]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ('"name":"reserve","name":"echo"', -32600),
        ('"name":"echo","Name":"reserve"', -32602),
        ('"name":"echo","ARGUMENTS":{}', -32602),
        ('"name":"echo","arguments":{"value":1,"value":2}', -32600),
        ('"name":"echo","arguments":{"value":NaN}', -32600),
        ('"name":"echo","arguments":{"value":-1e400}', -32600),
        ('"name":"echo"},"Params":{"name":"reserve"', -32600),
        ('"name":"echo"},"params":{"name":"reserve"', -32600),
        ('"name":"echo",', -32700),
    ],
)
def test_a_doubtful_call_is_refused_and_not_executed(bench: Any, params: str, code: int) -> None:
    recorder = bench.ready()
    agent = recorder.connect()
    agent.send(f'{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{params}}}}}\n'.encode())
    refused = agent.frame()
    assert (refused["error"]["code"], refused["id"]) == (code, None if code == -32700 else 7)
    assert result_of(agent.call("echo", value=1)) == 1
    recorder.finish()
    assert len(protocol(recorder)) == 1
    assert [e["arguments"] for e in recorder.events("tool_start")] == [{"value": 1}]
