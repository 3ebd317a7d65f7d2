"""What servers tell without being asked: what a record keeps of it, and how a replay tells it again."""

from __future__ import annotations

from typing import Any

import pytest
from engine_driver import Core
from mcp_driver import Fleet
from test_replay import relay, replaying, tool

from arci.boundary.journal import MOST_NOTICE_BYTES, MOST_NOTICES

HELLO: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
LOG = {"level": "info", "data": "half way"}


def client(core: Core) -> int:
    """A legacy client that has come to hear."""
    agent = core.open("mcp")
    core.ask(agent, "hello", "initialize", **HELLO)
    core.send(agent, b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    return agent


def call(core: Core, agent: int, name: str = "get", id: Any = 1, token: Any = None) -> None:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    core.ask(agent, id, "tools/call", name=name, arguments={}, **meta)


def message(data: Any, server: str = "one") -> dict[str, Any]:
    return {"server": server, "method": "notifications/message", "params": {"level": "info", "data": data}}


def heard(core: Core, agent: int) -> list[Any]:
    """What the agent was sent after the handshake, in order: `id` of an answer, data of a log line, progress."""
    found = []
    for frame in core.sent(agent):
        params = frame.get("params", {})
        said = params.get("data", params.get("progress", frame.get("method")))
        found.append(said if "method" in frame else frame["id"])
    return [item for item in found if item != "hello"]


def test_a_record_keeps_what_a_server_notifies() -> None:
    fleet = Fleet().begun()
    client(fleet)
    fleet.say("one", {"method": "notifications/message", "params": LOG})
    (event,) = fleet.events("notification")
    assert (event["server"], event["method"], event["params"]) == ("one", "notifications/message", LOG)
    assert "heard" not in event


def test_a_record_says_of_a_notification_that_nobody_heard_it() -> None:
    fleet = Fleet().begun()
    fleet.say("one", {"method": "notifications/message", "params": LOG})
    assert [event["heard"] for event in fleet.events("notification")] == [False]


def test_a_record_keeps_the_progress_of_a_call_without_a_token() -> None:
    fleet = Fleet().begun()
    agent = client(fleet)
    call(fleet, agent, token="mine")
    params = {"progressToken": fleet.id("one", "tools/call"), "progress": 1, "total": 2}
    fleet.say("one", {"method": "notifications/progress", "params": params})
    (event,) = fleet.events("progress")
    assert (event["tool"], event["call_id"], event["params"]) == ("get", 0, {"progress": 1, "total": 2})
    assert fleet.sent(agent)[-1]["params"] == {"progressToken": "mine", "progress": 1, "total": 2}


def test_a_record_keeps_the_progress_of_a_relayed_request_by_its_number() -> None:
    fleet = Fleet().begun()
    agent = client(fleet)
    fleet.ask(agent, 1, "resources/read", uri="a://b", _meta={"progressToken": 5})
    params = {"progressToken": fleet.id("one", "resources/read"), "progress": 1}
    fleet.say("one", {"method": "notifications/progress", "params": params})
    fleet.now_s += 1
    fleet.result("one", "resources/read", {"contents": []})
    (progress,), (asked,) = fleet.events("progress"), fleet.events("relay")
    assert (progress["server"], progress["request"], progress["params"]) == ("one", 0, {"progress": 1})
    assert (asked["request"], asked["asked_at_s"], asked["at_s"]) == (0, 0.0, 1.0)


def test_a_record_keeps_the_size_alone_of_a_long_notification() -> None:
    fleet = Fleet().begun()
    agent = client(fleet)
    params = {"data": "x" * MOST_NOTICE_BYTES}
    fleet.say("one", {"method": "notifications/message", "params": params})
    (event,) = fleet.events("notification")
    assert "params" not in event
    assert event["params_bytes"] > MOST_NOTICE_BYTES
    assert fleet.sent(agent)[-1]["params"] == params


def test_beyond_a_bound_progress_is_passed_on_and_no_longer_recorded() -> None:
    fleet = Fleet().begun()
    agent = client(fleet)
    call(fleet, agent, token=1)
    token = fleet.id("one", "tools/call")
    for n in range(MOST_NOTICES + 1):
        fleet.say("one", {"method": "notifications/progress", "params": {"progressToken": token, "progress": n}})
    fleet.say("one", {"method": "notifications/message", "params": LOG})
    assert len(fleet.events("progress")) == MOST_NOTICES
    assert len(fleet.events("notification")) == 1
    assert heard(fleet, agent) == [*range(MOST_NOTICES + 1), "half way"]


def test_a_replay_tells_it_around_the_answer_in_its_order() -> None:
    told = [{"params": {"progress": 1}}, message("a"), {"params": {"progress": 2, "total": 2}}]
    core = replaying(tool("get", {}, "x", told=told, told_after=[message("b")]), server="one")
    agent = client(core)
    call(core, agent, token="mine")
    assert heard(core, agent) == [1, "a", 2, 1, "b"]
    assert core.sent(agent)[1]["params"] == {"progressToken": "mine", "progress": 1}


def test_a_replay_records_what_it_tells_as_its_recording_did() -> None:
    live = Fleet().begun()
    agent = client(live)
    call(live, agent, token="mine")
    token = live.id("one", "tools/call")
    live.say("one", {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
    live.say("one", {"method": "notifications/message", "params": LOG})
    live.text("x")
    told = [{"params": {"progress": 1}}, message("half way")]
    core = replaying(tool("get", {}, "x", told=told), server="one")
    call(core, client(core), token="other")
    kinds = ("tool_start", "progress", "notification", "tool_finish")
    assert [{**e, "at_s": 0, "executed": 0} for e in core.events(*kinds) if e["kind"] != "tool_finish"] == [
        {**e, "at_s": 0, "executed": 0} for e in live.events(*kinds) if e["kind"] != "tool_finish"
    ]
    assert [e["kind"] for e in core.events(*kinds)] == [e["kind"] for e in live.events(*kinds)]


def test_progress_is_not_told_to_a_client_that_gives_no_token_now() -> None:
    core = replaying(tool("get", {}, "x", told=[{"params": {"progress": 1}}, message("a")]), server="one")
    agent = client(core)
    call(core, agent)
    assert heard(core, agent) == ["a", 1]
    assert core.events("progress") == []


def test_what_was_told_before_anything_was_asked_is_told_once_when_a_client_has_come_to_hear() -> None:
    core = replaying(server="one", told=[message("first")])
    silent = core.open("mcp")
    core.ask(silent, "hello", "initialize", **HELLO)
    assert core.events("notification") == []
    assert heard(core, client(core)) == ["first"]
    assert heard(core, client(core)) == []
    assert heard(core, silent) == []


def test_a_relayed_request_is_answered_after_its_progress_and_before_what_came_then() -> None:
    updated = {"server": "one", "method": "notifications/resources/updated", "params": {"uri": "a://b"}}
    told = {"told": [{"params": {"progress": 1}}], "told_after": [updated]}
    core = replaying(relay("resources/subscribe", {"uri": "a://b"}, result="{}", **told), server="one")
    agent = client(core)
    core.ask(agent, 7, "resources/subscribe", uri="a://b", _meta={"progressToken": 3})
    assert heard(core, agent) == [1, 7, "notifications/resources/updated"]


@pytest.mark.parametrize("ends_by", ["cancel", "going"])
def test_what_came_after_a_call_that_was_never_answered_is_told_when_it_ends(ends_by: str) -> None:
    answer = {"ok": False, "error_kind": "cancelled", "is_held": True}
    told = {"told": [{"params": {"progress": 1}}], "told_after": [message("late")]}
    core = replaying(tool("get", {}, "", **answer, **told), server="one")
    agent = client(core)
    call(core, agent, token=4)
    assert heard(core, agent) == [1]
    if ends_by == "cancel":
        core.send(agent, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')
        assert heard(core, agent) == [1, "late"]
    else:
        core.close(agent)
        core.agent_gone()
        assert [event["heard"] for event in core.events("notification")] == [False]


def test_a_modern_client_hears_progress_and_no_notification() -> None:
    core = replaying(tool("get", {}, "x", told=[{"params": {"progress": 1}}, message("a")]), server="one")
    agent = core.open("mcp")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "t",
    }
    core.ask(agent, 1, "tools/call", name="get", arguments={}, _meta=meta)
    assert heard(core, agent) == [1, 1]
    assert [event["heard"] for event in core.events("notification")] == [False]
