"""How an MCP server is started: which era it speaks, its tools, and everything that can go wrong on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_driver import begin_frame
from mcp_driver import LEGACY, MODERN, TOOLS, Fleet, server

from arci.boundary.message import EndOutput, Launch, Opened, Received, Send
from arci.boundary.server_process import launch_of
from arci.boundary.terms import ServerTerms, Terms

UNKNOWN = {"code": -32601, "message": "not known"}


def ready(fleet: Fleet) -> dict[str, Any]:
    (frame,) = fleet.told("ready")
    found: dict[str, Any] = frame["servers"][0]
    return found


def test_a_server_is_launched_with_its_trial_and_nothing_else() -> None:
    fleet = Fleet(server(argv=["serve", "--x"], env={"MODE": "test", "HOME": "/elsewhere"})).start()
    (launch,) = [a for a in fleet.actions if isinstance(a, Launch)]
    task = b'{"k":1}'
    assert (launch.process, launch.argv, launch.workdir) == ("one", ["serve", "--x"], "/work/one")
    assert (launch.file, launch.number, launch.input) == (("/work/one.task.json", task), 0, None)
    assert launch.env == {
        "HOME": "/elsewhere",
        "ARCI_TASK_FILE": "/work/one.task.json",
        "ARCI_SEED": "7",
        "ARCI_TASK": task.decode(),
        "MODE": "test",
    }


def test_a_task_that_is_too_long_for_a_variable_is_in_the_file_alone() -> None:
    task = {"text": "x" * 40_000}
    terms = Terms({**begin_frame(), "trial": {"trial_id": "t", "seed": 1, "task": task}})
    launch = launch_of(ServerTerms(server()), terms, 0)
    assert "ARCI_TASK" not in launch.env
    assert launch.file is not None
    assert json.loads(launch.file[1]) == task


def test_each_server_has_a_number_of_its_own_and_one_in_a_container_none() -> None:
    fleet = Fleet(server("a"), server("b", argv=None), server("c")).start()
    assert [(a.process, a.number) for a in fleet.actions if isinstance(a, Launch)] == [("a", 0), ("c", 1)]


def test_a_server_that_answers_discover_is_modern_and_gets_the_envelope_with_each_request() -> None:
    fleet = Fleet().start()
    fleet.result("one", "server/discover", MODERN)
    fleet.result("one", "tools/list", {"resultType": "complete", "tools": TOOLS})
    assert ready(fleet) == {
        "name": "one",
        "era": "modern",
        "revision": "2026-07-28",
        "info": {"name": "fake", "version": "2"},
        "capabilities": {"tools": {}},
        "instructions": None,
        "tools": ["get", "put", "dump"],
    }
    assert fleet.methods() == ["server/discover", "tools/list"]
    fleet.call(fleet.open())
    for frame in fleet.frames():
        meta = frame["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
        assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "arci"


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32022, -32000])
def test_a_server_that_refuses_discover_in_any_words_is_legacy(code: int) -> None:
    fleet = Fleet().start()
    fleet.result("one", "server/discover", error={"code": code, "message": "no"})
    fleet.result("one", "initialize", {**LEGACY, "protocolVersion": "2024-11-05"})
    fleet.result("one", "tools/list", {"tools": TOOLS})
    assert (ready(fleet)["era"], ready(fleet)["revision"]) == ("legacy", "2024-11-05")
    assert fleet.methods() == ["server/discover", "initialize", "notifications/initialized", "tools/list"]
    assert "_meta" not in fleet.frames()[-1]["params"]


@pytest.mark.parametrize("answer", [{}, {**MODERN, "supportedVersions": ["2099-01-01"]}, {"supportedVersions": 3}, []])
def test_an_answer_to_discover_that_shows_no_era_of_ours_falls_back(answer: Any) -> None:
    fleet = Fleet().start()
    fleet.result("one", "server/discover", answer)
    assert fleet.methods()[-1] == "initialize"


def test_a_silent_server_gets_initialize_after_a_second_and_may_answer_only_that() -> None:
    fleet = Fleet().start()
    assert fleet.methods() == ["server/discover"]
    fleet.due("probe")
    assert fleet.methods() == ["server/discover", "initialize"]
    fleet.result("one", "initialize", LEGACY)
    fleet.result("one", "tools/list", {"tools": []})
    assert ready(fleet)["era"] == "legacy"
    fleet.result("one", "server/discover", MODERN)
    assert fleet.events("protocol") == []
    assert fleet.servers_of().about("one").era == "legacy"


def test_a_slow_modern_server_that_refuses_initialize_is_modern_whichever_answer_comes_first() -> None:
    for order in (("server/discover", "initialize"), ("initialize", "server/discover")):
        fleet = Fleet().start()
        fleet.due("probe")
        for method in order:
            if method == "initialize":
                fleet.result("one", method, error={"code": -32022, "message": "not in this era"})
            else:
                fleet.result("one", method, MODERN)
        fleet.result("one", "tools/list", {"tools": TOOLS})
        assert ready(fleet)["era"] == "modern"
        assert fleet.told("trouble") == []


def test_a_server_that_dies_of_discover_is_started_again_and_asked_initialize_alone() -> None:
    fleet = Fleet().start()
    fleet.end(how="exit status 1")
    assert len([a for a in fleet.actions if isinstance(a, Launch)]) == 2
    assert fleet.methods() == ["server/discover", "initialize"]
    fleet.result("one", "initialize", LEGACY)
    fleet.result("one", "tools/list", {"tools": TOOLS})
    assert ready(fleet)["era"] == "legacy"
    assert fleet.told("trouble") == []


def test_a_server_that_dies_again_is_trouble_with_its_exit_status() -> None:
    fleet = Fleet().start()
    fleet.end()
    fleet.end(how="killed by signal 11")
    assert [(t["detail"], t["server"], t["phase"], t["during_call"]) for t in fleet.told("trouble")] == [
        ("server 'one' ended by itself: killed by signal 11", "one", "setup", False)
    ]
    assert [(e["steps"], e["how"]) for e in fleet.events("environment_end")] == [([], "killed by signal 11")]


def test_a_program_that_cannot_be_run_is_trouble_that_names_it() -> None:
    fleet = Fleet().start()
    fleet.fail_launch("one", "run 'serve': No such file or directory (errno 2)")
    (trouble,) = fleet.told("trouble")
    assert trouble["blame"] == "environment"
    assert trouble["detail"] == (
        "server 'one': it could not be started: run 'serve': No such file or directory (errno 2)"
    )


@pytest.mark.parametrize(
    ("result", "error", "words"),
    [
        (None, {"code": -32603, "message": "cannot"}, "`initialize` was answered with error -32603: cannot"),
        ({"capabilities": {}}, None, "no protocolVersion"),
        ([], None, "no protocolVersion"),
    ],
)
def test_an_initialize_that_is_no_answer_is_trouble(result: Any, error: Any, words: str) -> None:
    fleet = Fleet().start()
    fleet.result("one", "server/discover", error=UNKNOWN)
    fleet.result("one", "initialize", result, error)
    assert words in fleet.told("trouble")[0]["detail"]
    assert fleet.told("ready") == []


def test_a_server_that_answers_nothing_is_trouble_once_after_setup_seconds() -> None:
    fleet = Fleet().start()
    fleet.due("probe")
    fleet.due("request")
    (trouble,) = fleet.told("trouble")
    assert "did not answer `initialize` within setup_seconds (60 s)" in trouble["detail"]


# The tool list


def listed(fleet: Fleet, *pages: Any) -> Fleet:
    fleet.result("one", "server/discover", error=UNKNOWN)
    fleet.result("one", "initialize", LEGACY)
    for page in pages:
        fleet.result("one", "tools/list", page)
    return fleet


def test_every_page_of_the_tool_list_is_read() -> None:
    fleet = Fleet().start()
    listed(
        fleet, {"tools": TOOLS[:1], "nextCursor": "2"}, {"tools": TOOLS[1:2], "nextCursor": ""}, {"tools": TOOLS[2:]}
    )
    assert fleet.told("ready")[0]["tools"] == TOOLS
    assert [f["params"] for f in fleet.frames() if f["method"] == "tools/list"] == [{}, {"cursor": "2"}, {"cursor": ""}]


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ([{"tools": [], "nextCursor": "a"}, {"tools": [], "nextCursor": "a"}], "goes round in circles"),
        ([{"tools": [], "nextCursor": 5}], "goes round in circles"),
        ([{"tools": "none"}], "no list of tools"),
        ([{"tools": [{"title": "nameless"}]}], "no list of tools that have names"),
        ([{"tools": [TOOLS[0], TOOLS[0]]}], "two tools have the name 'get'"),
        ([[]], "no list of tools"),
        ([{"tools": [], "nextCursor": str(n)} for n in range(101)], "more than 100 pages"),
        ([{"tools": [{"name": str(n)} for n in range(10_001)], "nextCursor": "x"}], "10000 tools"),
    ],
)
def test_a_tool_list_that_is_none_is_trouble(pages: list[Any], words: str) -> None:
    fleet = listed(Fleet().start(), *pages)
    (trouble,) = fleet.told("trouble")
    assert words in trouble["detail"]


def test_a_server_that_has_no_tools_need_not_know_how_to_list_them() -> None:
    fleet = Fleet().start()
    fleet.result("one", "server/discover", error=UNKNOWN)
    fleet.result("one", "initialize", {**LEGACY, "capabilities": {"resources": {}}})
    fleet.result("one", "tools/list", error=UNKNOWN)
    assert fleet.told("ready")[0]["tools"] == []


def test_a_server_that_says_it_has_tools_must_list_them() -> None:
    fleet = Fleet().start()
    listed(fleet)
    fleet.result("one", "tools/list", error=UNKNOWN)
    assert "`tools/list` was answered with an error" in fleet.told("trouble")[0]["detail"]


def test_the_snapshot_tool_must_be_there_and_is_not_shown() -> None:
    how = {"kind": "tool", "tool": "dump", "arguments": {}}
    fleet = listed(Fleet(server(snapshot=how)).start(), {"tools": TOOLS})
    fleet.text('{"a": 1}')
    assert [t["name"] for t in fleet.told("ready")[0]["tools"]] == ["get", "put"]
    fleet = listed(Fleet(server(snapshot={**how, "tool": "other"})).start(), {"tools": TOOLS})
    assert "snapshot: it has no tool 'other'" in fleet.told("trouble")[0]["detail"]


def test_several_servers_are_ready_when_the_last_is() -> None:
    fleet = Fleet(server("a"), server("b")).start()
    fleet.shake("b")
    assert fleet.told("ready") == []
    fleet.shake("a", [{"name": "only"}])
    (frame,) = fleet.told("ready")
    assert [s["name"] for s in frame["servers"]] == ["a", "b"]
    assert [t["name"] for t in frame["tools"]] == ["only", "get", "put", "dump"]


# A server in a container of its own


def connected(fleet: Fleet, name: str, token: str = "e") -> int:
    connection, fleet._next = fleet._next, fleet._next + 1
    fleet.handle(Opened(connection))
    fleet.handle(Received(connection, f"ARCI environment {token} {name}\n".encode()))
    return connection


def heard(fleet: Fleet, connection: int) -> list[dict[str, Any]]:
    data = b"".join(a.data for a in fleet.actions if isinstance(a, Send) and a.connection == connection)
    return [json.loads(line) for line in data.splitlines()]


def answer(fleet: Fleet, connection: int, **what: Any) -> None:
    frame = {"jsonrpc": "2.0", "id": heard(fleet, connection)[-1]["id"], **what}
    fleet.handle(Received(connection, json.dumps(frame).encode() + b"\n"))


def contained() -> tuple[Fleet, int]:
    fleet = Fleet(server("box", argv=None)).start()
    connection = connected(fleet, "box")
    answer(fleet, connection, error=UNKNOWN)
    answer(fleet, connection, result=LEGACY)
    answer(fleet, connection, result={"tools": TOOLS})
    return fleet, connection


def test_a_server_that_connects_is_spoken_to_over_its_connection() -> None:
    fleet, connection = contained()
    assert [a for a in fleet.actions if isinstance(a, Launch)] == []
    assert ready(fleet)["name"] == "box"
    agent = fleet.open("mcp")
    fleet.call(agent, id="x")
    answer(fleet, connection, result={"content": []})
    assert fleet.sent(agent) == [{"jsonrpc": "2.0", "id": "x", "result": {"content": []}}]


def test_a_second_connection_a_wrong_name_and_a_wrong_token_are_closed() -> None:
    fleet, _ = contained()
    for name, token in (("box", "e"), ("other", "e"), ("box", "a")):
        assert fleet.is_closed(connected(fleet, name, token))


def test_a_server_that_is_started_by_argv_may_not_connect_as_well() -> None:
    fleet = Fleet(server("one")).start()
    assert fleet.is_closed(connected(fleet, "one"))


def test_a_server_that_never_connects_is_trouble_after_setup_seconds() -> None:
    fleet = Fleet(server("box", argv=None)).start()
    fleet.due("connect")
    assert "did not connect within setup_seconds (60 s)" in fleet.told("trouble")[0]["detail"]


def test_a_container_that_closes_its_connection_is_a_death() -> None:
    fleet, connection = contained()
    agent = fleet.open()
    fleet.call(agent)
    fleet.close(connection)
    (trouble,) = fleet.told("trouble")
    assert (trouble["detail"], trouble["server"], trouble["during_call"]) == (
        *("server 'box' ended by itself: its connection was closed", "box", True),
    )
    assert fleet.kind(agent) == "environment"


def test_a_container_is_ended_by_half_closing_and_waited_for() -> None:
    fleet, connection = contained()
    fleet.agent_gone()
    assert EndOutput(connection) in fleet.actions
    assert fleet.told("end") == []
    fleet.close(connection)
    (end,) = fleet.events("environment_end")
    assert (end["steps"], end["how"]) == (["stdin"], "its connection was closed")
    assert len(fleet.told("end")) == 1


def test_a_container_that_does_not_end_holds_nobody_for_ever() -> None:
    fleet, _ = contained()
    fleet.agent_gone()
    began = fleet.now_s
    fleet.due("stop")
    assert fleet.now_s == began + 8
    assert [e["how"] for e in fleet.events("environment_end")] == ["still there"]
    assert len(fleet.told("final_state")) == 1
