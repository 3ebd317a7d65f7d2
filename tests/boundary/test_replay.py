"""A recording in place of environment and faults: what hits, what misses, what is left over, and that nothing runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_driver import Core, begin_frame, fault
from mcp_driver import Fleet

from arci.boundary.message import Ask, Control, Launch
from arci.boundary.outcome import MOST_RESULT_BYTES
from arci.boundary.peer import TOOLSET

ABOUT: dict[str, Any] = {
    "era": "legacy",
    "revision": "2025-11-25",
    "capabilities": {"tools": {}},
    "info": {},
    "instructions": None,
}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("get", "put")]


def tool(name: str, arguments: dict[str, Any], value: Any = None, **answer: Any) -> dict[str, Any]:
    """A recorded call of a tool."""
    plain = {"ok": True, "value": value, "error_kind": None, "injected_by": None, "is_held": False, "injections": []}
    return {"kind": "tool", "name": name, "payload": arguments, "answer": {**plain, **answer}}


def failed(kind: str, text: str, **answer: Any) -> dict[str, Any]:
    return {"ok": False, "value": text, "error_kind": kind, **answer}


def relay(method: str, payload: dict[str, Any], **answer: Any) -> dict[str, Any]:
    return {"kind": "relay", "name": f"one {method}", "payload": payload, "answer": answer}


def replaying(*calls: dict[str, Any], server: str = TOOLSET, death: Any = None, told: Any = (), **begin: Any) -> Core:
    """A replay of these calls that is ready for its agent."""
    about = {**ABOUT, "capabilities": {"tools": {}, "resources": {}}}
    servers = [{"name": server, "about": about, "tools": TOOLS, "told": list(told)}]
    core = Core()
    replay = {"servers": servers, "calls": list(calls), "death": death}
    core.handle(Control({**begin_frame(**begin), "replay": replay}))
    return core


def value(core: Core, agent: int) -> Any:
    return core.last(agent)["structuredContent"]["result"]


def misses(core: Core) -> list[dict[str, Any]]:
    return core.told("replay_miss")


def steps(core: Core) -> list[Any]:
    """What is recorded of finished calls."""
    return [(e["tool"], e["ok"], e["value"], e["error_kind"], e["injected_by"]) for e in core.events("tool_finish")]


def test_the_recorded_answer_comes_at_once_and_nothing_is_started_or_asked() -> None:
    core = replaying(tool("get", {"a": 1}, {"deep": [1, 2.5]}))
    agent = core.open()
    core.call(agent, "get", a=1)
    assert value(core, agent) == {"deep": [1, 2.5]}
    assert (core.told("ready")[0]["tools"], core.asked, misses(core)) == (TOOLS, [], [])
    assert not [a for a in core.actions if isinstance(a, (Ask, Launch))]
    assert [e["executed"] for e in core.events("tool_finish")] == [False]


def test_the_tool_list_is_the_recorded_one() -> None:
    core = replaying()
    agent = core.open("mcp")
    core.ask(agent, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    core.ask(agent, 2, "tools/list")
    assert core.last(agent)["tools"] == TOOLS


def test_one_argument_changed_is_a_miss_that_names_the_nearest_call() -> None:
    core = replaying(tool("put", {"a": 1, "b": 2}, "x"), tool("get", {"a": 9, "b": 9}), tool("get", {"a": 1, "b": 2}))
    agent = core.open()
    core.call(agent, "get", a=1, b=3)
    (miss,) = misses(core)
    assert miss["call"] == {"kind": "tool", "name": "get", "payload": {"a": 1, "b": 3}}
    assert (miss["nearest"], miss["recorded"], miss["is_too_long"]) == (2, 0, False)
    assert core.kind(agent) == "environment"


def test_two_independent_calls_in_the_other_order_are_hits() -> None:
    core = replaying(tool("get", {"a": 1}, "one"), tool("put", {"b": 2}, "two"))
    agent = core.open()
    core.call(agent, "put", b=2)
    assert value(core, agent) == "two"
    core.call(agent, "get", a=1)
    assert value(core, agent) == "one"
    assert misses(core) == []


def test_the_same_call_gets_its_answers_in_their_order_and_once_more_is_a_miss() -> None:
    core = replaying(*(tool("get", {"a": 1}, n) for n in (1, 2, 3)))
    agent = core.open()
    answers = []
    for _ in range(3):
        core.call(agent, "get", a=1)
        answers.append(value(core, agent))
    assert answers == [1, 2, 3]
    core.call(agent, "get", a=1)
    (miss,) = misses(core)
    assert (miss["recorded"], core.kind(agent)) == (3, "environment")


@pytest.mark.parametrize(
    ("recorded", "asked", "hits"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": {"x": 1, "y": [1]}}, {"a": {"y": [1], "x": 1}}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": None}, {}, False),
    ],
)
def test_arguments_are_compared_by_their_canonical_form(recorded: Any, asked: Any, hits: bool) -> None:
    core = replaying(tool("get", recorded, "x"))
    agent = core.open()
    core.call(agent, "get", **asked)
    assert (misses(core) == []) is hits


def test_meta_is_not_compared() -> None:
    core = replaying(tool("get", {}, "x"), server="one")
    agent = core.open("mcp")
    core.ask(agent, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    core.ask(agent, 2, "tools/call", name="get", arguments={}, _meta={"progressToken": "random", "other": 1})
    assert misses(core) == []


def test_only_the_first_miss_is_told_and_later_calls_fail_too() -> None:
    core = replaying()
    agent = core.open()
    core.call(agent, "get", a=1)
    core.call(agent, "get", a=2)
    assert [miss["call"]["payload"] for miss in misses(core)] == [{"a": 1}]
    assert misses(core)[0]["nearest"] is None
    assert [s[3] for s in steps(core)] == ["environment", "environment"]


def test_what_a_fault_made_of_an_answer_is_served_again_without_the_fault_and_without_its_waiting() -> None:
    injection = {"fault": "tool_timeout", "fault_index": 1}
    answer = failed("timeout", "too late", injected_by="tool_timeout", injections=[injection])
    core = replaying(tool("get", {}, **answer), faults=[])
    agent = core.open()
    core.call(agent, "get")
    assert core.kind(agent) == "timeout"
    assert steps(core) == [("get", False, "too late", "timeout", "tool_timeout")]
    (event,) = core.events("injection")
    assert (event["fault"], event["fault_index"], event["tool"], event["occurrence"]) == ("tool_timeout", 1, "get", 0)
    assert core.wakes() == []


@pytest.mark.parametrize("name", ["tool_timeout", "tool_error_once", "empty_result", "lost_response"])
def test_a_replay_records_the_same_events_as_its_recording(name: str) -> None:
    live = Core().begun(faults=[fault(name)])
    agent = live.open()
    live.call(agent, "get", a=1)
    if live.asked:
        live.value([1, 2])
    (start,), (finish,) = live.events("tool_start"), live.events("tool_finish")
    injections = [{"fault": e["fault"], "fault_index": e["fault_index"]} for e in live.events("injection")]
    answer = {key: finish[key] for key in ("ok", "error_kind", "injected_by")}
    core = replaying(tool("get", start["arguments"], finish["value"], **answer, injections=injections))
    again = core.open()
    core.call(again, "get", a=1)
    assert core.sent(again) == live.sent(agent)
    for kind in ("tool_start", "injection", "tool_finish"):
        for event, recorded in zip(core.events(kind), live.events(kind), strict=True):
            assert {**event, "at_s": 0, "executed": 0} == {**recorded, "at_s": 0, "executed": 0}


def test_a_server_s_result_is_served_to_the_letter() -> None:
    text = '{"content": [{"type":"text","text":"caf\\u00e9"}],  "x": 1.50, "isError":false}'
    core = replaying(tool("get", {}, "café", result=text), server="one")
    agent = core.open("mcp")
    core.ask(agent, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    core.ask(agent, 2, "tools/call", name="get", arguments={})
    sent = b"".join(a.data for a in core.actions if getattr(a, "connection", None) == agent and hasattr(a, "data"))
    assert text.encode() in sent


def test_an_answer_that_was_too_long_to_keep_is_a_miss_that_says_so() -> None:
    core = replaying(tool("get", {}, "x", too_long=5_000_000))
    core.call(core.open(), "get")
    assert [miss["is_too_long"] for miss in misses(core)] == [True]


def test_an_answer_that_the_agent_never_heard_is_held_until_it_is_gone() -> None:
    core = replaying(tool("get", {}, "late", is_held=True))
    agent = core.open()
    core.call(agent, "get")
    assert core.sent(agent) == []
    core.close(agent)
    core.agent_gone()
    assert steps(core) == [("get", True, "late", None, None)]
    assert core.told("replay_leftover") == []


def test_a_call_that_was_cancelled_can_be_cancelled_again() -> None:
    core = replaying(tool("get", {}, **failed("cancelled", "cancelled by the agent", is_held=True)), server="one")
    agent = core.open("mcp")
    core.ask(agent, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    core.ask(agent, 2, "tools/call", name="get", arguments={})
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    core.send(agent, json.dumps(cancelled).encode() + b"\n")
    assert [e["kind"] for e in core.events("cancelled", "tool_finish")] == ["cancelled", "tool_finish"]
    assert steps(core)[0][3] == "cancelled"


def test_recorded_calls_that_are_not_made_are_told_at_the_end() -> None:
    core = replaying(*(tool("get", {"n": n}, n) for n in range(30)))
    agent = core.open()
    core.call(agent, "get", n=1)
    core.close(agent)
    core.agent_gone()
    (left,) = core.told("replay_leftover")
    assert (left["count"], left["calls"]) == (29, [0, *range(2, 21)])
    assert [f["type"] for f in (*core.told("final_state"), *core.told("end"))] == ["final_state", "end"]


def test_contract_and_budgets_hold_in_a_replay_too() -> None:
    core = replaying(tool("get", {}, 1), contract={"forbidden_tools": ["put"]}, budgets={"max_tool_calls": 2})
    agent = core.open()
    core.call(agent, "put")
    core.call(agent, "get")
    core.call(agent, "get")
    assert [e["invariant"] for e in core.events("violation")] == ["forbidden_tools"]
    assert [frame["budget"] for frame in core.told("latched")] == ["max_tool_calls"]
    assert misses(core) == []


def test_a_server_that_a_call_killed_is_told_dead_again() -> None:
    death = {"detail": "server 'one' ended by itself", "server": "one", "during_call": True, "how": "exit status 3"}
    core = replaying(tool("get", {}, **failed("environment", "the environment is gone")), server="one", death=death)
    core.call(core.open(), "get")
    (trouble,) = core.told("trouble")
    assert {key: trouble[key] for key in ("blame", *death)} == {"blame": "environment", **death}


def test_relayed_requests_are_answered_from_the_recording_in_order() -> None:
    core = replaying(
        relay("resources/read", {"uri": "a://b"}, result='{"contents": [{"uri":"a://b","text":"1"}]}'),
        relay("resources/read", {"uri": "a://b"}, error={"code": -32002, "message": "gone now"}),
        server="one",
    )
    agent = core.open("mcp")
    core.ask(agent, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    core.ask(agent, 2, "resources/read", uri="a://b")
    assert core.last(agent) == {"contents": [{"uri": "a://b", "text": "1"}]}
    core.ask(agent, 3, "resources/read", uri="a://b")
    assert core.last(agent) == {"code": -32002, "message": "gone now"}
    core.ask(agent, 4, "resources/read", uri="a://c")
    (miss,) = misses(core)
    assert (miss["call"]["name"], miss["nearest"]) == ("one resources/read", 0)
    assert [e["ok"] for e in core.events("relay")] == [True, False, False]


def test_a_record_keeps_the_result_of_a_server_where_its_value_does_not_say_all() -> None:
    fleet = Fleet().begun()
    agent = fleet.open()
    fleet.call(agent)
    result = {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "AA=="}], "isError": False}
    fleet.result("one", "tools/call", result)
    (finish,) = fleet.events("tool_finish")
    assert json.loads(finish["result"]) == result


def test_a_record_keeps_no_result_that_can_be_made_of_its_value() -> None:
    fleet = Fleet().begun()
    agent = fleet.open()
    fleet.call(agent)
    result = '{"content":[{"type":"text","text":"5"}],"structuredContent":{"result":5},"isError":false}'
    line = f'{{"jsonrpc":"2.0","id":{fleet.id("one", "tools/call")},"result":{result}}}'
    fleet.raw("one", line.encode() + b"\n")
    (finish,) = fleet.events("tool_finish")
    assert (finish["value"], "result" in finish) == (5, False)


def test_a_result_over_the_bound_is_kept_by_its_size_alone() -> None:
    fleet = Fleet().begun()
    agent = fleet.open()
    fleet.call(agent)
    fleet.text("x" * MOST_RESULT_BYTES)
    (finish,) = fleet.events("tool_finish")
    assert "result" not in finish
    assert finish["result_bytes"] > MOST_RESULT_BYTES


def test_a_record_keeps_what_a_relayed_request_was_answered() -> None:
    fleet = Fleet().begun()
    agent = fleet.open("mcp")
    fleet.ask(agent, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    fleet.ask(agent, 2, "prompts/get", name="p")
    fleet.result("one", "prompts/get", {"messages": []})
    fleet.ask(agent, 3, "prompts/get", name="q")
    fleet.result("one", "prompts/get", error={"code": -5, "message": "no"})
    first, second = fleet.events("relay")
    assert json.loads(first["result"]) == {"messages": []}
    assert second["error"] == {"code": -5, "message": "no"}


def test_what_is_answered_after_the_agent_is_gone_is_marked() -> None:
    core = Core().begun()
    agent = core.open()
    core.call(agent, "get")
    core.call(agent, "put")
    core.value("heard")
    core.close(agent)
    core.agent_gone()
    core.value("not heard")
    assert [e.get("heard", True) for e in core.events("tool_finish")] == [True, False]
