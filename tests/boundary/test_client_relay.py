"""What is no call: resources, prompts and unknown requests relayed; notifications; connections of servers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_driver import Side, modern

from arci.boundary.asked import GONE, OVERDUE


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/list", {}),
        ("resources/templates/list", {"cursor": "c"}),
        ("resources/read", {"uri": "a://b"}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "p", "arguments": {"x": "1"}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "x", "value": ""}}),
        ("vendor/own", {"deep": [1, {"x": None}]}),
    ],
)
def test_a_request_is_relayed_recorded_and_answered_byte_for_byte(method: str, params: dict[str, Any]) -> None:
    side = Side()
    client = side.open()
    side.ask(client, "q", method, params)
    assert (side.asked.server, side.asked.method, side.asked.params) == ("shop", method, params)
    side.asked.answer(raw=b'{"n": 1.50, "resources":[]}')
    assert side.written(client) == b'{"jsonrpc":"2.0","id":"q","result":{"n": 1.50, "resources":[]}}\n'
    (relay,) = side.events("relay")
    assert (relay["server"], relay["method"], relay["params"], relay["ok"]) == ("shop", method, params, True)


def test_a_servers_own_error_is_data_whatever_its_code() -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "resources/read", {"uri": "a://b"})
    side.asked.answer(error={"code": -32002, "message": "not found", "data": {"uri": "a://b"}})
    assert side.last(client) == {"code": -32002, "message": "not found", "data": {"uri": "a://b"}}
    side.ask(client, 2, "resources/read", {"uri": "a://b"})
    side.asked.answer(error={"code": "odd", "message": "m"})
    assert (side.last(client)["code"], side.events("relay")[0]["ok"]) == (-32603, False)


@pytest.mark.parametrize("how", [OVERDUE, GONE])
def test_an_unanswered_request_is_an_error_that_no_client_takes_for_its_own(how: str) -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "prompts/list")
    side.asked.done(how, None)
    assert side.last(client)["code"] == -32603


def test_the_envelope_of_a_modern_client_does_not_leak() -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "prompts/list", modern(_meta={"progressToken": 1}))
    assert side.asked.params == {}
    side.asked.answer(raw=b'{"prompts":[]}')
    assert side.last(client)["resultType"] == "complete"


@pytest.mark.parametrize(("era", "code"), [("legacy", -32002), ("modern", -32602)])
def test_the_resource_of_the_snapshot_is_neither_read_nor_listed(era: str, code: int) -> None:
    side = Side()
    client = side.open()
    wrap = modern if era == "modern" else dict
    side.ask(client, 1, "resources/read", wrap(uri="state://hidden"))
    assert (side.last(client)["code"], side.servers.asked, side.kinds()) == (code, [], ["protocol"])
    side.ask(client, 2, "resources/list", wrap())
    side.asked.answer(raw=b'{"resources":[{"uri":"state://hidden"},{"uri":"a://b"},5],"nextCursor":"n"}')
    assert side.last(client)["resources"] == [{"uri": "a://b"}, 5]
    assert side.last(client)["nextCursor"] == "n"


def test_relays_are_recorded_up_to_a_number_and_no_call_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.relay.MOST_RELAYED", 3)
    side = Side(budgets={"max_tool_calls": 0})
    client = side.open()
    for id in range(5):
        side.ask(client, id, "prompts/list")
        side.asked.answer({"prompts": []})
    assert (len(side.events("relay")), len(side.sent(client))) == (3, 5)
    side.call(client)
    side.ask(client, 9, "prompts/list")
    assert (side.last(client)["code"], len(side.servers.asked)) == (-32600, 5)


def test_a_relayed_request_waits_for_the_servers_and_can_be_cancelled() -> None:
    side = Side(ready=False)
    client = side.open()
    side.ask(client, 1, "prompts/list")
    side.ask(client, 2, "prompts/list")
    side.tell(client, "notifications/cancelled", requestId=2)
    side.servers.ready()
    assert len(side.servers.asked) == 1
    side.tell(client, "notifications/cancelled", requestId=1, reason="r")
    assert side.asked.cancelled == ["r"]
    side.asked.late({"prompts": []})
    assert side.sent(client) == []


def test_servers_that_never_start_refuse_what_waited() -> None:
    side = Side(ready=False)
    client = side.open()
    side.ask(client, 1, "prompts/list")
    side.ask(client, 2, "tools/list")
    side.servers.ready(False)
    assert [f["error"]["code"] for f in side.sent(client)] == [-32600, -32600]


# Notifications


def test_a_servers_notice_goes_to_its_initialised_legacy_clients_alone() -> None:
    side = Side({"a": ["x"], "b": ["y"]})
    of_a, too_early, of_b, new = (side.open(f"ARCI mcp a {s}\n".encode()) for s in ("a", "a", "b", "a"))
    for client in (of_a, too_early, of_b):
        side.ask(client, 0, "initialize")
    for client in (of_a, of_b):
        side.tell(client, "notifications/initialized")
    side.ask(new, 0, "tools/list", modern())
    side.tell(new, "notifications/initialized")
    side.servers.on_notification("a", "notifications/tools/list_changed", {"k": 1})
    notice = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"k": 1}}
    assert [side.sent(c)[-1] == notice for c in (of_a, too_early, of_b, new)] == [True, False, False, False]
    side.agent.closed(of_a)
    count = len(side.actions)
    side.servers.on_notification("a", "notifications/tools/list_changed", {})
    assert len(side.actions) == count


@pytest.mark.parametrize("method", ["notifications/progress", "notifications/roots/list_changed", "notifications/odd"])
def test_a_clients_other_notifications_are_ignored(method: str) -> None:
    side = Side()
    client = side.open()
    side.tell(client, method, progressToken=1)
    assert (side.sent(client), side.events(), side.servers.asked) == ([], [], [])


# Servers in containers of their own


def test_a_server_connects_once_and_its_bytes_are_handed_on_as_they_are() -> None:
    side = Side()
    first, second = side.open(b"ARCI environment e shop\nhel"), side.open(b"ARCI environment e shop\n")
    side.send(first, b"lo\xff\n\n")
    assert (side.servers.heard, side.is_closed(first), side.is_closed(second)) == (b"hello\xff\n\n", False, True)
    assert side.agent.count == 0
    side.agent.close_all()
    assert not side.is_closed(first)
    side.agent.half_closed(first)
    assert side.servers.heard.endswith(b"<closed>")


@pytest.mark.parametrize(
    "hello", [b"ARCI environment a shop\n", b"ARCI environment e\n", b"ARCI environment e nosuch\n"]
)
def test_who_is_no_server_is_not_let_in(hello: bytes) -> None:
    side = Side()
    assert side.is_closed(side.open(hello))


def test_what_a_server_in_a_container_says_is_traffic() -> None:
    side = Side()
    connection = side.open(b"ARCI environment e shop\n")
    for _ in range(129):
        side.send(connection, b"x" * 2**20)
    assert "traffic_bytes" in json.dumps([repr(a) for a in side.actions[-3:]])
