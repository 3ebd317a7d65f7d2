"""How MCP servers end: their deaths, the order in which they are stopped, and the states taken before and after."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_driver import Fleet, server

from arci.boundary.message import EndInput, Launch, Signal
from arci.boundary.snapshot import state_of_resource, state_of_tool
from arci.boundary.stop_order import KILL, TERM

# Deaths


def test_a_server_that_dies_in_a_call_fails_it_at_once_and_says_so() -> None:
    fleet = Fleet().begun()
    agent = fleet.open()
    fleet.call(agent)
    fleet.end(how="killed by signal 9")
    assert fleet.kind(agent) == "environment"
    (trouble,) = fleet.told("trouble")
    assert (trouble["blame"], trouble["server"], trouble["phase"], trouble["during_call"]) == (
        *("environment", "one", "trial", True),
    )
    assert trouble["detail"] == "server 'one' ended by itself: killed by signal 9"
    assert [(e["steps"], e["how"]) for e in fleet.events("environment_end")] == [([], "killed by signal 9")]
    fleet.call(agent)
    assert [(e["error_kind"], e["executed"]) for e in fleet.events("tool_finish")][1:] == [("environment", False)]


def test_a_server_that_dies_while_nobody_calls_did_not_die_in_a_call() -> None:
    fleet = Fleet().begun()
    agent = fleet.open()
    fleet.call(agent)
    fleet.text("done")
    fleet.end()
    assert [t["during_call"] for t in fleet.told("trouble")] == [False]


def test_the_other_servers_live_on() -> None:
    fleet = Fleet(server("one"), server("two")).begun()
    fleet.end("one")
    agent = fleet.open()
    fleet.call(agent, "two.get")
    fleet.text("alive", "two")
    assert fleet.last(agent)["content"] == [{"type": "text", "text": "alive"}]


def test_after_a_death_there_is_an_end_and_no_state_of_a_server_that_must_be_asked() -> None:
    fleet = Fleet(server(snapshot={"kind": "tool", "tool": "dump"})).start()
    fleet.shake()
    fleet.text("{}")
    fleet.end()
    fleet.agent_gone()
    assert (fleet.told("final_state"), len(fleet.told("trouble")), len(fleet.told("end"))) == ([], 1, 1)


def test_a_trial_whose_servers_did_not_start_ends_without_asking_them() -> None:
    fleet = Fleet(server("one"), server("two", snapshot={"kind": "tool", "tool": "dump"})).start()
    fleet.fail_launch("one", "run 'serve': no")
    fleet.agent_gone()
    assert "tools/call" not in fleet.methods("two")
    fleet.end("two")
    assert len(fleet.told("end")) == 1


def test_a_server_that_becomes_ready_after_the_agent_has_gone_is_ready_for_nobody() -> None:
    fleet = Fleet().start()
    fleet.agent_gone()
    fleet.shake()
    assert fleet.told("ready") == []
    fleet.end()
    assert (fleet.told("trouble"), len(fleet.told("end"))) == ([], 1)


# The order of stopping


def stopping(**changes: Any) -> Fleet:
    fleet = Fleet(server(**changes)).begun()
    fleet.agent_gone()
    return fleet


def test_a_server_that_heeds_the_end_of_its_input_is_waited_for_no_longer() -> None:
    fleet = stopping()
    assert EndInput("one") in fleet.actions
    assert fleet.told("end") == []
    fleet.end(how="exit status 0")
    assert [(e["server"], e["steps"], e["how"]) for e in fleet.events("environment_end")] == [
        ("one", ["stdin"], "exit status 0")
    ]
    assert fleet.told("trouble") == []
    assert (len(fleet.told("final_state")), len(fleet.told("end"))) == (1, 1)
    fleet.due("stop")
    assert [a for a in fleet.actions if isinstance(a, Signal)] == []


def test_a_server_that_ignores_it_gets_term_and_then_kill_each_in_its_time() -> None:
    fleet = stopping()
    began = fleet.now_s
    fleet.due("stop")
    assert (fleet.now_s - began, [a for a in fleet.actions if isinstance(a, Signal)]) == (5, [Signal("one", TERM)])
    fleet.due("stop")
    assert (fleet.now_s - began, fleet.actions.count(Signal("one", KILL))) == (7, 1)
    assert fleet.told("end") == []
    fleet.end(how="killed by signal 9")
    assert [(e["steps"], e["how"]) for e in fleet.events("environment_end")] == [
        (["stdin", "TERM", "KILL"], "killed by signal 9")
    ]
    assert len(fleet.told("final_state")) == 1


def test_a_server_that_is_not_even_killed_holds_nobody_for_ever() -> None:
    fleet = stopping()
    for _ in range(3):
        fleet.due("stop")
    assert [e["how"] for e in fleet.events("environment_end")] == ["still there"]
    assert len(fleet.told("end")) == 1


def test_open_calls_are_failed_before_the_servers_are_stopped() -> None:
    fleet = Fleet().begun()
    agent = fleet.open()
    fleet.call(agent)
    fleet.agent_gone()
    fleet.due("drain")
    assert fleet.kind_of_finish() == "timeout"
    assert fleet.methods()[-1] == "notifications/cancelled"
    assert EndInput("one") in fleet.actions


def test_all_servers_are_stopped_at_once() -> None:
    fleet = Fleet(server("one"), server("two")).begun()
    fleet.agent_gone()
    assert [a.process for a in fleet.actions if isinstance(a, EndInput)] == ["one", "two"]
    fleet.end("two")
    assert fleet.told("end") == []
    fleet.end("one")
    assert len(fleet.told("end")) == 1


# States


def test_a_state_is_taken_before_the_agent_and_after_it_by_a_tool() -> None:
    fleet = Fleet(server(snapshot={"kind": "tool", "tool": "dump", "arguments": {"all": True}})).start()
    fleet.shake()
    assert fleet.frames()[-1]["params"] == {"name": "dump", "arguments": {"all": True}}
    assert fleet.told("ready") == []
    fleet.result("one", "tools/call", {"content": [], "structuredContent": {"n": 0}})
    assert [f["type"] for f in (a.frame for a in fleet.actions if hasattr(a, "frame"))][-2:] == [
        "ready",
        "initial_state",
    ]
    assert fleet.told("initial_state")[0]["state"] == {"one": {"n": 0}}
    fleet.agent_gone()
    assert EndInput("one") not in fleet.actions
    fleet.result("one", "tools/call", {"content": [], "structuredContent": {"n": 1}})
    assert EndInput("one") in fleet.actions
    fleet.end()
    assert fleet.told("final_state")[0]["state"] == {"one": {"n": 1}}
    assert [e for e in fleet.kinds() if e.startswith("tool")] == []


def test_a_state_may_be_a_resource_that_the_agent_cannot_read() -> None:
    fleet = Fleet(server(snapshot={"kind": "resource", "uri": "state://All/x%20y"})).start()
    fleet.shake()
    assert fleet.frames()[-1]["params"] == {"uri": "state://All/x%20y"}
    fleet.result("one", "resources/read", {"contents": [{"uri": "state://all", "text": '{"n": 2}'}]})
    assert fleet.told("initial_state")[0]["state"] == {"one": {"n": 2}}
    before = len(fleet.frames())
    agent = fleet.open("mcp")
    for id, uri in enumerate(("state://All/x%20y", "STATE://all/x y", "state://all/%78%20%79#part")):
        fleet.ask(agent, id, "resources/read", uri=uri)
        assert "error" in fleet.sent(agent)[-1]
    assert len(fleet.frames()) == before


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"result": {"isError": True, "content": [{"type": "text", "text": "locked"}]}}, "failed: locked"),
        ({"error": {"code": -1, "message": "gone away"}}, "gone away"),
        ({"result": {"content": []}}, "neither structured content nor a text"),
        ({"result": [1]}, "answered without a result"),
    ],
)
def test_a_state_that_cannot_be_had_is_the_environments_trouble(answer: dict[str, Any], words: str) -> None:
    fleet = Fleet(server(snapshot={"kind": "tool", "tool": "dump"})).start()
    fleet.shake()
    fleet.say("one", {"id": fleet.id("one", "tools/call"), **answer})
    (trouble,) = fleet.told("trouble")
    assert (trouble["blame"], trouble["server"]) == ("environment", "one")
    assert trouble["detail"].startswith("server 'one': snapshot: tool 'dump': ")
    assert words in trouble["detail"]


def test_a_state_that_does_not_come_in_time_is_trouble_and_the_end_comes_all_the_same() -> None:
    fleet = Fleet(server(snapshot={"kind": "tool", "tool": "dump"})).start(budgets={"tool_seconds": 4})
    fleet.shake()
    fleet.text("{}")
    fleet.agent_gone()
    fleet.due("request")
    assert "no answer within 4 s" in fleet.told("trouble")[0]["detail"]
    fleet.end()
    assert (fleet.told("final_state"), len(fleet.told("end"))) == ([], 1)


def test_states_that_are_read_from_files_are_left_to_the_host() -> None:
    fleet = Fleet(server("one", snapshot={"kind": "files", "paths": ["a"]}), server("two")).begun()
    assert fleet.told("initial_state")[0]["state"] == {"one": None, "two": {}}
    fleet.agent_gone()
    fleet.end("one")
    fleet.end("two")
    assert fleet.told("final_state")[0]["state"] == {"one": None, "two": {}}


def by_function() -> Fleet:
    fleet = Fleet(server("one"), server("two", snapshot={"kind": "python", "ref": "m:f"})).begun()
    fleet.raw("two/snapshot", b'{"state": {"n": 0}}\n')
    fleet.end("two/snapshot", "exit status 0")
    return fleet


def test_a_state_may_be_what_a_function_makes_of_the_directory_once_the_server_has_ended() -> None:
    fleet = by_function()
    assert fleet.told("initial_state")[0]["state"] == {"one": {}, "two": {"n": 0}}
    fleet.agent_gone()
    fleet.end("one")
    launches = [a for a in fleet.actions if isinstance(a, Launch) and a.process == "two/snapshot"]
    assert len(launches) == 1
    fleet.end("two")
    launch = [a for a in fleet.actions if isinstance(a, Launch)][-1]
    assert (launch.argv, launch.workdir, launch.number) == (["snapshot", "m:f", "/work/two"], "/work/two", 1)
    assert launch.input == b'{"k":1}'
    fleet.raw("two/snapshot", b'{"state": {"n": 1}}\n')
    fleet.end("two/snapshot", "exit status 0")
    assert fleet.told("final_state")[0]["state"] == {"one": {}, "two": {"n": 1}}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b'{"error": "KeyError: 1"}\n', "KeyError: 1"),
        (b"", "it gave no state (exit status 1)"),
        (b"[]\n", "it gave no state"),
        (b"garbage\n", "it gave no state"),
    ],
)
def test_a_function_that_gives_no_state_is_trouble(answer: bytes, words: str) -> None:
    fleet = by_function()
    fleet.agent_gone()
    fleet.end("one")
    fleet.end("two")
    fleet.raw("two/snapshot", answer)
    fleet.end("two/snapshot", "exit status 1")
    assert words in fleet.told("trouble")[0]["detail"]
    assert (fleet.told("final_state"), len(fleet.told("end"))) == ([], 1)


def test_a_function_that_hangs_is_killed_and_one_that_cannot_be_started_is_trouble() -> None:
    fleet = by_function()
    fleet.agent_gone()
    fleet.end("one")
    fleet.end("two")
    fleet.due("snapshot")
    assert Signal("two/snapshot", KILL) in fleet.actions
    assert "no answer within 30 s" in fleet.told("trouble")[0]["detail"]
    assert len(fleet.told("end")) == 1
    fleet = Fleet(server("two", snapshot={"kind": "python", "ref": "m:f"})).begun()
    fleet.fail_launch("two/snapshot", "run 'python': no")
    assert "could not be started: run 'python': no" in fleet.told("trouble")[0]["detail"]


@pytest.mark.parametrize(
    ("result", "state"),
    [
        ({"structuredContent": {"a": 1}, "content": [{"type": "text", "text": "{}"}]}, {"a": 1}),
        ({"content": [{"type": "text", "text": '{"a": 1}'}]}, {"a": 1}),
        ({"content": [{"type": "image"}, {"type": "text", "text": "[1]"}]}, {"result": [1]}),
        ({"content": [{"type": "text", "text": "two apples"}]}, {"text": "two apples"}),
        ({"content": [{"type": "text", "text": '{"a": NaN}'}]}, None),
        ({"content": [{"type": "text", "text": '{"a": 1, "a": 2}'}]}, None),
        ({"content": "odd"}, None),
    ],
)
def test_the_state_in_a_tools_answer(result: dict[str, Any], state: Any) -> None:
    found, problem = state_of_tool(result)
    assert (found, bool(problem)) == (state, state is None)


@pytest.mark.parametrize(
    ("result", "state"),
    [
        ({"contents": [{"uri": "x", "text": '{"a": 1}'}, {"uri": "y", "text": "no"}]}, {"a": 1}),
        ({"contents": [{"uri": "x", "blob": "AAEC"}]}, {"base64": "AAEC"}),
        ({"contents": []}, None),
        ({}, None),
    ],
)
def test_the_state_in_a_resource(result: dict[str, Any], state: Any) -> None:
    found, problem = state_of_resource(result)
    assert (found, bool(problem)) == (state, state is None)
