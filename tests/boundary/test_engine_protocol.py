"""Connections and frames through the engine: hello, hostile bytes, MCP answers, worker requests, status, the end."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from core import TOOLS, Core, begin_frame
from hypothesis import given
from hypothesis import strategies as st

from arci.boundary.message import (
    Close,
    Control,
    EndEnvironment,
    EnvironmentSaid,
    Exit,
    Listen,
    Opened,
    Received,
    Send,
    Wake,
)

if TYPE_CHECKING:
    from arci.boundary.message import Action

# Cuts

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get","arguments":{"u":"\xe2\x80\xa8"}}}'
STREAM = b"".join(
    [
        b"ARCI worker a\n",
        CALL % 1 + b"\r\n",
        b"\n\xef\xbb\xbf" + CALL % 2 + b"\n",
        b"garbage\n",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n',
        b'{"jsonrpc":"2.0","method":"notifications/arci/model_step","params":{"summary":"s","facts":{"n":1}}}\n',
        b'{"jsonrpc":"2.0","id":3,"method":"arci/result","params":{"claim":{"done":true}}}\n',
    ]
)


def run_in_pieces(pieces: list[bytes]) -> list[Action]:
    """Everything the engine does; the environment's answers are cut into single bytes on the way."""
    core = Core().begun()
    core.handle(Opened(0))
    for piece in pieces:
        core.handle(Received(0, piece))
        while core.asked:
            id = core.asked.pop(0)["id"]
            line = json.dumps({"jsonrpc": "2.0", "id": id, "result": {"structuredContent": {"result": id}}})
            for byte in line.encode() + b"\n":
                core.handle(EnvironmentSaid(bytes([byte])))
    core.close(0)
    core.agent_gone()
    core.reply({"state": {"x": 1}})
    return [a for a in core.actions if not isinstance(a, Wake)]


WHOLE = run_in_pieces([STREAM])


def by_stream(actions: list[Action]) -> dict[str, list[Action]]:
    streams: dict[str, list[Action]] = {}
    for action in actions:
        streams.setdefault(type(action).__name__, []).append(action)
    return streams


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_no_cut_of_the_byte_stream_changes_what_is_done(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(places)]
    found, whole = by_stream(run_in_pieces(pieces)), by_stream(WHOLE)
    assert found["Ask"] == whole["Ask"]
    assert found.keys() == whole.keys()
    assert sorted(map(repr, found["Send"])) == sorted(map(repr, whole["Send"]))
    assert sorted(map(repr, found["Tell"])) == sorted(map(repr, whole["Tell"]))


@given(st.lists(st.binary(max_size=80) | st.sampled_from([b"ARCI worker a\n", CALL % 1 + b"\n"]), max_size=20))
def test_no_bytes_of_an_agent_break_the_engine(pieces: list[bytes]) -> None:
    core = Core().begun()
    core.handle(Opened(0))
    for piece in pieces:
        core.handle(Received(0, piece))
    other = core.open()
    core.ask(other, 1, "arci/trial")
    assert core.last(other)["task"] == {"k": 1}


# Hello


@pytest.mark.parametrize(
    "first",
    [
        *(b"ARCI worker wrong\n", b"ARCI other a\n", b"ARCI status a\n", b"ARCI worker s\n", b"GET / HTTP/1.1\r\n"),
        *(b"\xff\xfe\n", b"x" * 513, b"ARCI worker a" + b"x" * 600 + b"\n", CALL % 1 + b"\n"),
    ],
)
def test_a_connection_without_the_right_hello_is_ended_without_an_answer(first: bytes) -> None:
    core = Core().begun()
    core.handle(Opened(0))
    core.send(0, first)
    core.send(0, CALL % 1 + b"\n")
    assert core.is_closed(0)
    assert [a for a in core.actions if isinstance(a, Send)] == []
    assert core.events() == []


def test_there_is_one_status_connection() -> None:
    core = Core().begun()
    first, second = core.open("status", "s"), core.open("status", "s")
    assert (core.is_closed(first), core.is_closed(second)) == (False, True)


# Bad frames


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"garbage", -32700),
        (b'{"jsonrpc":"2.0"', -32700),
        (b"\xff\xff", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","name":"put"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"x":NaN}}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{"x":1e400}}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","Name":"put"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","ARGUMENTS":{}}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":[1]}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":' + b"[" * 200 + b"]" * 200 + b"}}", -32600),
    ],
)
def test_a_bad_frame_is_answered_at_once_recorded_and_never_executed(line: bytes, code: int) -> None:
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, line + b"\n")
    assert core.last(agent)["code"] == code
    assert (core.kinds(), core.asked) == (["protocol"], [])
    core.ask(agent, 2, "ping")
    assert core.last(agent) == {}


def test_an_answer_to_nothing_is_recorded_and_not_answered() -> None:
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert (core.kinds(), core.sent(agent)) == (["protocol"], [])


def test_a_line_over_the_limit_is_refused_and_the_next_frame_is_heard() -> None:
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, b"x" * (8 * 1024 * 1024 + 1))
    assert core.last(agent)["code"] == -32600
    core.send(agent, b"yyy\n")
    core.ask(agent, 1, "ping")
    assert (core.last(agent), core.kinds()) == ({}, ["protocol"])


def test_an_endless_line_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.connections.FLOOD_BYTES", 9_000_000)
    core = Core().begun()
    agent = core.open("mcp")
    for _ in range(9):
        core.send(agent, b"x" * (1024 * 1024))
    assert core.is_closed(agent)
    assert [e["detail"] for e in core.events("protocol")][-1].endswith("flooding, ended")


def test_many_unfinished_lines_are_one_budget_and_the_largest_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.connections.BUFFER_BYTES", 10_000)
    core = Core().begun()
    agents = [core.open("mcp") for _ in range(4)]
    core.send(agents[1], b"x" * 4000)
    for agent in agents:
        core.send(agent, b"x" * 2000)
    assert [core.is_closed(a) for a in agents] == [False, True, False, False]


def test_a_million_bad_frames_are_not_a_million_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.connections.MOST_BAD_FRAMES", 300)
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, b"x\n" * 301)
    assert core.is_closed(agent)
    events = core.events("protocol")
    assert len(events) == 100
    assert events[-1]["detail"].endswith("further ones are not recorded")


def test_a_connection_that_ends_within_a_frame_is_noted() -> None:
    core = Core().begun()
    agent = core.open("mcp")
    core.send(agent, b'{"jsonrpc"')
    core.close(agent)
    assert [e["detail"] for e in core.events("protocol")] == [
        "mcp connection: ended within a frame, after 10 bytes of it"
    ]


# MCP


@pytest.mark.parametrize(
    ("asked", "given"), [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25"), (5, "2025-11-25")]
)
def test_initialize_is_answered_before_the_environment_is_ready(asked: Any, given: str) -> None:
    core = Core()
    core.handle(Control(begin_frame()))
    agent = core.open("mcp")
    core.ask(agent, 0, "initialize", protocolVersion=asked)
    assert core.last(agent)["protocolVersion"] == given
    assert "tools" in core.last(agent)["capabilities"]


def test_the_tools_are_listed_once_they_are_known() -> None:
    core = Core()
    core.handle(Control(begin_frame()))
    agent = core.open("mcp")
    core.ask(agent, 1, "tools/list")
    assert core.sent(agent) == []
    core.reply({})
    core.reply({"tools": TOOLS})
    assert core.last(agent) == {"tools": TOOLS}
    core.ask(agent, 2, "tools/list")
    assert core.last(agent) == {"tools": TOOLS}


def test_other_methods_are_answered_and_notifications_are_not() -> None:
    core = Core().begun()
    agent = core.open("mcp")
    for method, found in [("ping", {}), ("logging/setLevel", {})]:
        core.ask(agent, 1, method)
        assert core.last(agent) == found
    for method in ("resources/list", "arci/trial", "server/discover"):
        core.ask(agent, 1, method)
        assert core.last(agent)["code"] == -32601
    before = len(core.sent(agent))
    core.send(agent, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    assert (len(core.sent(agent)), core.events()) == (before, [])


# Worker


def test_the_worker_gets_the_task_and_a_state_not_the_seed() -> None:
    core = Core().begun()
    agent = core.open()
    core.ask(agent, 1, "arci/trial")
    version, numbers, gauss = core.last(agent)["rng_state"]
    rng = random.Random()
    rng.setstate((version, tuple(numbers), gauss))
    assert rng.random() == random.Random("7:agent").random()
    assert set(core.last(agent)) == {"task", "rng_state"}


def test_the_clock_starts_when_worker_and_environment_are_both_ready() -> None:
    core = Core()
    core.handle(Control(begin_frame()))
    agent = core.open()
    core.ask(agent, 1, "arci/ready")
    assert (core.sent(agent), core.told("status")) == ([], [])
    core.reply({})
    core.reply({"tools": TOOLS})
    assert core.told("status") == [{"type": "status", "status": "worker_ready"}]
    core.ask(agent, 2, "arci/ready")
    assert (len(core.sent(agent)), len(core.told("status"))) == (2, 1)


def test_the_first_result_counts() -> None:
    core = Core().begun()
    agent = core.open()
    core.ask(agent, 1, "arci/result", claim=[1])
    assert core.last(agent)["code"] == -32602
    core.ask(agent, 1, "arci/result", claim={"a": 1})
    core.ask(agent, 2, "arci/failure", kind="E", message="m")
    assert core.last(agent)["code"] == -32600
    (result,) = core.events("agent_result")
    assert (result["claim"], result["failure"]) == ({"a": 1}, None)


def test_a_failure_is_a_result_too_and_its_text_is_bounded() -> None:
    core = Core().begun()
    agent = core.open()
    core.ask(agent, 1, "arci/failure", kind="E", message=5)
    assert core.last(agent)["code"] == -32602
    core.ask(agent, 1, "arci/failure", kind="E", message="m" * 20_000)
    (result,) = core.events("agent_result")
    assert (result["claim"], len(result["failure"]["message"])) == (None, 10_000)


def test_no_result_is_taken_beyond_a_budget() -> None:
    core = Core().begun(budgets={"max_tool_calls": 0})
    agent = core.open()
    core.call(agent)
    core.ask(agent, 2, "arci/result", claim={"fine": True})
    assert core.last(agent)["message"] == "budget max_tool_calls of 0 is used up"
    assert core.events("agent_result") == []


@pytest.mark.parametrize("params", [b'{"summary":5}', b'{"summary":"s","facts":[]}', b"{}"])
def test_a_malformed_model_step_is_recorded_as_such(params: bytes) -> None:
    core = Core().begun()
    agent = core.open()
    core.send(agent, b'{"jsonrpc":"2.0","method":"notifications/arci/model_step","params":' + params + b"}\n")
    assert core.kinds() == ["protocol"]


# Status


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b"started", {"status": "started"}),
        (b"exec-failed 2", {"status": "exec_failed", "errno": 2}),
        (b"ended exit 3 oom=0", {"status": "ended", "code": 3, "oom_kills": 0}),
        (b"ended signal 9 oom=-1", {"status": "ended", "signal": 9, "oom_kills": None}),
    ],
)
def test_a_status_line_becomes_a_frame(line: bytes, fields: dict[str, Any]) -> None:
    core = Core().begun()
    core.send(core.open("status", "s"), line + b"\n")
    assert core.told("status") == [{"type": "status", **fields}]


@pytest.mark.parametrize(
    "line", [b"ended", b"ended exit x oom=0", b"ended exit 1 oom", b"started 1", b"exec-failed", b"\xff"]
)
def test_a_line_that_is_no_status_is_recorded(line: bytes) -> None:
    core = Core().begun()
    core.send(core.open("status", "s"), line + b"\n")
    assert (core.told("status"), core.kinds()) == ([], ["protocol"])


def test_a_status_connection_that_ends_too_early_is_lost() -> None:
    core = Core().begun()
    early, late = core.open("status", "s"), Core().begun()
    core.send(early, b"started\n")
    core.close(early)
    assert core.told("status")[-1] == {"type": "status", "status": "lost"}
    status = late.open("status", "s")
    late.send(status, b"ended exit 0 oom=0\n")
    late.close(status)
    assert [f["status"] for f in late.told("status")] == ["ended"]


# Setup


def test_begin_listens_then_starts_the_environment_with_task_and_seed() -> None:
    core = Core()
    actions = core.handle(Control(begin_frame()))
    assert actions[0] == Listen("unix:/s")
    assert (core.asked[0]["method"], core.asked[0]["params"]) == ("arci/start", {"task": {"k": 1}, "seed": 7})
    core.reply({})
    core.reply({"tools": TOOLS})
    (ready,) = core.told("ready")
    assert ready["tools"] == TOOLS
    assert len(ready["tools_sha256"]) == 64


@pytest.mark.parametrize("step", ["start", "tools"])
@pytest.mark.parametrize("how", ["error", "late", "dead", "odd"])
def test_an_environment_that_does_not_start_is_trouble_once_and_holds_nobody(step: str, how: str) -> None:
    core = Core()
    core.handle(Control(begin_frame()))
    worker, client = core.open(), core.open("mcp")
    core.ask(worker, 1, "arci/ready")
    core.ask(client, 1, "tools/list")
    if step == "tools" or how == "odd":
        core.reply({})
    if how == "error":
        core.reply(error="toolset: ImportError: no module")
    elif how == "late":
        core.due("peer")
    elif how == "dead":
        core.die()
    else:
        core.reply({"tools": "none"})
    (trouble,) = core.told("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "setup")
    assert core.told("ready") == core.told("status") == []
    assert "did not start" in core.last(worker)["message"]
    assert "did not start" in core.last(client)["message"]


def test_an_environment_that_died_before_begin_is_reported_once() -> None:
    core = Core()
    core.die()
    core.handle(Control(begin_frame()))
    assert [t["detail"] for t in core.told("trouble")] == ["the environment ended by itself: exit status 3"]


@pytest.mark.parametrize("error", [ImportError("no module named mine"), ValueError("bad params")])
def test_a_custom_fault_that_cannot_be_made_is_trouble_in_setup(error: Exception) -> None:
    def load(reference: str) -> Any:
        raise error

    core = Core(load)
    core.handle(Control(begin_frame(faults=[{"name": "mine:make", "params": {}}])))
    (trouble,) = core.told("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "setup")
    assert str(error) in trouble["detail"]


@pytest.mark.parametrize("frame", [{"type": "begin"}, {"type": "other"}, {}, {"type": "agent_gone"}])
def test_a_control_frame_that_makes_no_sense_is_the_harness_trouble(frame: dict[str, Any]) -> None:
    core = Core()
    core.handle(Control(frame))
    assert [t["blame"] for t in core.told("trouble")] == ["harness"]


def test_stop_exits() -> None:
    assert Core().handle(Control({"type": "stop"})) == [Exit(0)]


# The end


def test_the_end_waits_for_connections_then_takes_the_state_and_counts() -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent)
    core.value(1)
    core.agent_gone()
    assert core.told("end") == []
    core.call(agent)
    core.close(agent)
    assert core.asked[0]["method"] == "tools/call"
    core.value(2)
    core.reply({"state": {"x": 1}})
    assert core.told("final_state") == [{"type": "final_state", "state": {"x": 1}}]
    assert core.told("end") == [{"type": "end", "count": 4}]
    assert core.actions[-1] == EndEnvironment()
    assert [e["value"] for e in core.events("tool_finish")] == [1, 2]
    core.die()
    assert core.told("trouble") == []


def test_what_was_not_sent_when_the_agent_went_is_not_executed() -> None:
    core = Core().begun()
    agent = core.open()
    for _ in range(3):
        core.call(agent)
    core.close(agent)
    core.agent_gone()
    core.value("done")
    assert [r["method"] for r in core.asked] == ["arci/snapshot"]
    assert [(e["call_id"], e["ok"], e["executed"]) for e in core.events("tool_finish")] == [
        *((1, False, False), (2, False, False), (0, True, True)),
    ]


def test_a_connection_that_stays_open_is_ended_after_the_drain() -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent)
    core.agent_gone()
    core.due("drain")
    assert core.is_closed(agent)
    assert [r["method"] for r in core.asked] == ["tools/call", "arci/snapshot"]
    assert [e["error_kind"] for e in core.events("tool_finish")] == ["timeout"]
    core.asked.pop(0)
    core.reply({"state": {}})
    assert len(core.told("end")) == 1


def test_an_answer_that_a_fault_holds_is_recorded_at_the_end() -> None:
    core = Core().begun(faults=[{"name": "latency", "params": {"ms": 60_000}}])
    agent = core.open()
    core.call(agent)
    core.value("v")
    core.close(agent)
    core.agent_gone()
    assert [e["value"] for e in core.events("tool_finish")] == ["v"]
    core.due("call")
    assert len(core.events("tool_finish")) == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"error": "KeyError: 'x'"}, "snapshot: KeyError: 'x'"),
        ({"result": {"state": [1]}}, "snapshot: no JSON object"),
        ({"result": 5}, "snapshot: no JSON object"),
        (None, "snapshot: no answer within 30 s"),
    ],
)
def test_a_state_that_cannot_be_had_is_trouble_and_the_end_comes_all_the_same(reply: Any, words: str) -> None:
    core = Core().begun()
    core.agent_gone()
    if reply is None:
        core.due("peer")
    else:
        core.reply(**reply)
    assert [(t["blame"], t["detail"]) for t in core.told("trouble")] == [("environment", words)]
    assert (core.told("final_state"), core.told("end")) == ([], [{"type": "end", "count": 0}])


def test_a_dead_environment_has_no_state_but_the_trial_has_an_end() -> None:
    core = Core().begun()
    core.die()
    core.agent_gone()
    assert (len(core.told("trouble")), core.told("final_state")) == (1, [])
    assert core.told("end") == [{"type": "end", "count": 0}]


def test_the_environment_may_die_while_its_state_is_taken() -> None:
    core = Core().begun()
    core.agent_gone()
    core.die()
    assert (len(core.told("trouble")), len(core.told("end"))) == (1, 1)


def test_agent_gone_twice_is_one_end() -> None:
    core = Core().begun()
    core.agent_gone()
    core.agent_gone()
    core.reply({"state": {}})
    assert len(core.told("end")) == 1


def test_closing_tells_the_loop_once() -> None:
    core = Core().begun()
    agent = core.open("mcp", "wrong")
    core.close(agent)
    assert core.actions.count(Close(agent)) == 1
