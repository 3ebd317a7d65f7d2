"""Calls of MCP clients beyond the plain one: names among servers, cancelling, progress, oversize, what is refused."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from agent_driver import Side
from engine_driver import fault

from arci.boundary.asked import GONE, OVERDUE, UNSENT

OK = {"content": [{"type": "text", "text": "fine"}], "isError": False}


# Names


def test_faults_and_contract_find_a_tool_by_the_name_it_is_recorded_under() -> None:
    two = {"a": ["get", "one"], "b": ["get"]}
    side = Side(two, faults=[fault("tool_error_once", "a.get")], contract={"forbidden_tools": ["b.one", "b.get"]})
    of_a, of_b = side.open(b"ARCI mcp a a\n"), side.open(b"ARCI mcp a b\n")
    side.call(of_a)
    side.call(of_b)
    side.call(of_a, "one")
    assert [(e["tool"], e["kind"]) for e in side.events("injection", "violation", "tool_start")] == [
        *(("a.get", "tool_start"), ("a.get", "injection")),
        *(("b.get", "tool_start"), ("b.get", "violation")),
        ("one", "tool_start"),
    ]
    assert [(a.server, a.params["name"]) for a in side.servers.asked] == [("a", "one")]


def test_a_client_may_leave_the_server_out_only_where_there_is_one() -> None:
    one, two = Side(), Side({"a": [], "b": []})
    assert not one.is_closed(one.open(b"ARCI mcp a\n"))
    assert two.is_closed(two.open(b"ARCI mcp a\n"))
    assert two.is_closed(two.open(b"ARCI mcp a c\n"))
    assert not two.is_closed(two.open(b"ARCI worker a\n"))


def test_a_hidden_tool_is_refused_like_an_unknown_one_and_noted() -> None:
    side = Side()
    client = side.open()
    for tool in ("_state", "nosuch"):
        side.call(client, tool)
    hidden, unknown = (f["result"] for f in side.sent(client))
    assert (hidden["isError"], hidden["content"][0]["text"]) == (True, "unknown tool '_state'")
    assert hidden.keys() == unknown.keys()
    assert (side.servers.asked, side.events("violation")) == ([], [])
    assert len(side.events("protocol")) == 1


def test_calls_that_arrive_before_the_servers_are_ready_keep_their_order() -> None:
    side = Side(ready=False)
    client = side.open()
    for id in range(3):
        side.call(client, id=id, n=id)
    side.tell(client, "notifications/cancelled", requestId=1)
    assert side.servers.asked == []
    side.servers.ready()
    assert [a.params["arguments"] for a in side.servers.asked] == [{"n": 0}, {"n": 2}]


def test_a_list_is_whole_so_no_cursor_was_ever_given() -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "tools/list", {"cursor": "x"})
    assert side.last(client)["code"] == -32602


# Many at once


def test_concurrent_calls_are_answered_as_they_end_each_under_its_own_id() -> None:
    side = Side()
    client = side.open()
    for id in (1, "1", 0, "0", "", -(2**53)):
        side.call(client, id=id)
    for asked in reversed(side.servers.asked):
        asked.answer(OK)
    assert [f["id"] for f in side.sent(client)] == [-(2**53), "", "0", 0, "1", 1]


def test_an_id_under_way_cannot_be_used_twice_and_the_first_keeps_it() -> None:
    side = Side()
    client = side.open()
    side.call(client, id=7)
    side.call(client, "put", id=7)
    assert (side.last(client)["code"], side.kinds()) == (-32600, ["tool_start", "protocol"])
    side.asked.answer(OK)
    side.call(client, id=7)
    assert [f.get("result") for f in side.sent(client)] == [None, OK]
    assert len(side.servers.asked) == 2


def test_large_requests_wait_for_room_in_their_order_and_small_ones_of_others_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("arci.boundary.intake.OPEN_BYTES", 200_000)
    side = Side()
    heavy, other = side.open(), side.open()
    for id in range(4):
        side.call(heavy, id=id, text="x" * 90_000)
    side.call(heavy, "put", id=4)
    side.call(other, id=1)
    assert [(a.params["name"], len(a.params["arguments"])) for a in side.servers.asked] == [
        *(("get", 1), ("get", 1), ("get", 0)),
    ]
    for number in range(6):
        side.servers.asked[number].answer(OK)
        side.ring()
    assert [f["id"] for f in side.sent(heavy)] == [0, 1, 2, 3, 4]


def test_one_request_larger_than_the_room_is_served_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.intake.OPEN_BYTES", 100_000)
    side = Side()
    first, second = side.open(), side.open()
    for client in (first, second):
        side.call(client, text="x" * 300_000)
    assert len(side.servers.asked) == 1
    side.servers.asked[0].answer(OK)
    side.ring()
    assert len(side.servers.asked) == 2


def test_what_waits_for_room_counts_in_the_budget_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.intake.OPEN_BYTES", 100_000)
    monkeypatch.setattr("arci.boundary.connections.BUFFER_BYTES", 400_000)
    side = Side()
    heavy, other = side.open(), side.open()
    side.call(other, text="x" * 90_000)
    for id in range(6):
        side.call(heavy, id=id, text="x" * 90_000)
    assert (side.is_closed(heavy), side.is_closed(other)) == (True, False)
    side.asked.answer(OK)
    side.ring()
    assert len(side.servers.asked) == 1


# Cancelling


def test_a_cancelled_call_is_told_once_gets_no_answer_and_a_late_one_is_recorded() -> None:
    side = Side()
    client = side.open()
    side.call(client, id=4)
    for _ in range(2):
        side.tell(client, "notifications/cancelled", requestId=4, reason="bored")
    assert side.asked.cancelled == ["bored"]
    side.asked.late(OK)
    assert side.sent(client) == []
    assert side.kinds() == ["tool_start", "cancelled", "tool_finish", "tool_late"]
    assert side.events("tool_late")[0]["value"] == "fine"
    side.call(client, id=4)
    side.asked.answer(OK)
    assert side.last(client) == OK


@pytest.mark.parametrize("id", [4, "5", None, True, 5.0, [5], {}])
def test_only_the_very_id_is_cancelled(id: Any) -> None:
    side = Side()
    client, other = side.open(), side.open()
    side.call(client, id=5)
    side.tell(client, "notifications/cancelled", requestId=id)
    side.tell(other, "notifications/cancelled", requestId=5)
    assert (side.asked.cancelled, side.kinds()) == ([], ["tool_start"])


def test_a_call_that_a_fault_holds_back_can_be_cancelled() -> None:
    side = Side(faults=[fault("latency", ms=500)])
    client = side.open()
    side.call(client)
    side.asked.answer(OK)
    side.tell(client, "notifications/cancelled", requestId=1)
    side.ring()
    assert (side.sent(client), side.asked.cancelled) == ([], [])
    assert side.kinds() == ["tool_start", "injection", "cancelled", "tool_finish"]


# Progress


@pytest.mark.parametrize("token", ["t", 0])
def test_progress_comes_back_under_the_clients_own_token(token: Any) -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "tools/call", {"name": "get", "_meta": {"progressToken": token}})
    assert "_meta" not in side.asked.params
    side.asked.on_progress({"progressToken": 99, "progress": 1, "total": 2})
    assert side.sent(client) == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": 1, "total": 2},
        }
    ]


@pytest.mark.parametrize("meta", [{}, {"progressToken": None}, {"progressToken": True}, {"progressToken": [1]}])
def test_without_a_token_no_progress_is_asked_for(meta: dict[str, Any]) -> None:
    side = Side()
    side.ask(side.open(), 1, "tools/call", {"name": "get", "_meta": meta})
    assert side.asked.on_progress is None


# How it can end


@pytest.mark.parametrize(
    ("how", "kind", "executed"),
    [(OVERDUE, "timeout", True), (GONE, "environment", True), (UNSENT, "environment", False)],
)
def test_an_unanswered_call_is_a_tool_error(how: str, kind: str, executed: bool) -> None:
    side = Side()
    client = side.open()
    side.call(client)
    side.asked.done(how, None)
    assert side.last(client)["isError"] is True
    (finish,) = side.events("tool_finish")
    assert (finish["error_kind"], finish["executed"]) == (kind, executed)


def test_the_mark_of_arcis_own_failures_cannot_be_made_by_a_server() -> None:
    side = Side()
    client = side.open(b"ARCI worker a\n")
    side.call(client)
    side.asked.answer({"content": [], "isError": True, "_meta": {"arci": {"kind": "budget", "detail": "d"}, "own": 1}})
    assert side.last(client)["_meta"] == {"own": 1}
    assert side.events("tool_finish")[0]["error_kind"] == "error"


@pytest.mark.parametrize(
    "name", ["tool_timeout", "tool_error_once", "lost_response", "malformed_result", "empty_result"]
)
def test_an_injected_failure_is_a_tool_result_to_every_client(name: str) -> None:
    side = Side(faults=[fault(name)])
    client = side.open()
    side.call(client)
    if side.servers.asked:
        side.asked.answer({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"result": {"a": 1}}})
    result = side.sent(client)[-1]["result"]
    assert isinstance(result["content"][0]["text"], str)
    assert isinstance(result.get("structuredContent", {}), dict)
    assert (result.get("isError") is True) == (name not in ("malformed_result", "empty_result"))


# Too long


def test_a_call_over_the_limit_is_refused_under_its_id_and_counted() -> None:
    side = Side(contract={"max_calls_per_tool": {"get": 0}})
    client = side.open()
    line = b'{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"get","arguments":{"t":"' + b"x" * 2**23
    side.send(client, line)
    assert side.sent(client)[0]["id"] == "big"
    assert side.last(client)["isError"] is True
    start = side.events("tool_start")[0]
    assert start["arguments"]["oversize"]["sha256"] == hashlib.sha256(line[: 2**23]).hexdigest()
    assert start["arguments"]["oversize"]["head"].startswith('{"jsonrpc"')
    assert side.kinds() == ["protocol", "tool_start", "violation", "tool_finish"]
    side.send(client, b'"}}}\n')
    side.ask(client, "big", "ping")
    assert side.last(client) == {}


@pytest.mark.parametrize(
    ("head", "id"),
    [
        (b'{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"', 3),
        (b'{"method":"tools/call","params":{"name":"get","arguments":{"t":"', None),
        (b'{"jsonrpc":"2.0","id":3,"id":4,"method":"tools/call","params":{"t":"', None),
        (b"xxx", None),
    ],
)
def test_another_line_over_the_limit_is_refused_under_its_id_if_that_is_shown(head: bytes, id: Any) -> None:
    side = Side()
    client = side.open()
    side.send(client, head + b"x" * 2**23)
    (frame,) = side.sent(client)
    assert (frame["id"], frame["error"]["code"], side.kinds()) == (id, -32600, ["protocol"])


# Half-closed clients


def test_who_sends_its_calls_and_closes_its_side_is_still_answered() -> None:
    side = Side()
    client = side.open()
    for id in (1, 2):
        side.call(client, id=id)
    side.agent.half_closed(client)
    assert (side.is_closed(client), side.agent.count) == (False, 0)
    for asked in side.servers.asked:
        asked.answer(OK)
    assert [f["id"] for f in side.sent(client)] == [1, 2]
    assert side.is_closed(client)


def test_who_has_asked_nothing_is_ended_at_once() -> None:
    side = Side()
    idle, unnamed = side.open(), side.open(b"ARC")
    side.agent.half_closed(idle)
    side.agent.half_closed(unnamed)
    assert side.is_closed(idle)
    assert side.is_closed(unnamed)
