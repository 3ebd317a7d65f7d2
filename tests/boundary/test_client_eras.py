"""Both eras of MCP at the agent's side: who is of which, and what each is answered whatever the server's own era is."""

from __future__ import annotations

from typing import Any

import pytest
from agent_driver import CLIENT_ENVELOPE, Side, modern

INFO_KEY = "io.modelcontextprotocol/serverInfo"
ALL = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
    "tasks": {},
    "experimental": {"x": {}},
}


def initialize(side: Side, connection: int, revision: Any = "2025-06-18") -> dict[str, Any]:
    side.ask(connection, 0, "initialize", {"protocolVersion": revision, "capabilities": {}})
    side.tell(connection, "notifications/initialized")
    return side.last(connection)


# The handshake


def test_a_legacy_client_is_told_what_a_legacy_server_can() -> None:
    side = Side(capabilities=ALL)
    assert initialize(side, side.open()) == {
        "protocolVersion": "2025-06-18",
        "capabilities": {key: ALL[key] for key in ("tools", "resources", "prompts", "completions", "logging")},
        "serverInfo": {"name": "shop", "version": "9"},
        "instructions": "use shop well",
    }


def test_a_legacy_client_is_offered_nothing_that_a_modern_server_has_not() -> None:
    side = Side(capabilities=ALL, eras={"shop": "modern"})
    told = initialize(side, side.open())["capabilities"]
    assert (told["tools"], told["resources"]) == ({}, {})


def test_a_modern_client_discovers() -> None:
    side = Side(capabilities=ALL)
    client = side.open()
    side.ask(client, 1, "server/discover", modern())
    assert side.last(client) == {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {INFO_KEY: {"name": "shop", "version": "9"}},
        "instructions": "use shop well",
    }


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_handshake_is_answered_before_the_servers_are_ready(era: str) -> None:
    side = Side(ready=False)
    client = side.open()
    side.ask(client, 1, "initialize" if era == "legacy" else "server/discover", modern() if era == "modern" else {})
    assert side.last(client)["capabilities"] == {"tools": {}}


def test_a_server_without_a_version_gets_one() -> None:
    side = Side()
    side.servers.info = {"name": 5}
    assert initialize(side, side.open())["serverInfo"] == {"name": "shop", "version": "1"}


# One era in a session


def test_the_envelope_decides_and_initialize_then_names_what_is_served() -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "tools/list", modern())
    side.ask(client, 2, "initialize", {"protocolVersion": "2025-11-25"})
    assert side.last(client) == {
        "code": -32022,
        "message": "unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"},
    }


def test_an_envelope_in_a_session_that_began_without_is_refused_and_recorded() -> None:
    side = Side()
    client = side.open()
    initialize(side, client)
    side.ask(client, 2, "tools/list", modern())
    assert (side.last(client)["code"], side.kinds()) == (-32600, ["protocol"])


def test_a_bare_probe_leaves_the_way_to_initialize_open() -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "server/discover")
    assert side.last(client)["code"] == -32602
    assert initialize(side, client)["protocolVersion"] == "2025-06-18"
    side.ask(client, 2, "server/discover")
    assert side.last(client)["code"] == -32601


def test_two_connections_may_be_of_two_eras() -> None:
    side = Side()
    old, new = side.open(), side.open()
    initialize(side, old)
    side.ask(new, 1, "tools/list", modern())
    side.ask(old, 1, "tools/list")
    assert set(side.last(old)) == {"tools"}
    assert set(side.last(new)) == {"tools", "resultType", "ttlMs", "cacheScope", "_meta"}
    assert [t["name"] for t in side.last(new)["tools"]] == ["get", "put"]


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, -32602),
        ({**CLIENT_ENVELOPE, "io.modelcontextprotocol/protocolVersion": 5}, -32602),
        ({**CLIENT_ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}, -32022),
    ],
)
def test_a_wrong_envelope_is_refused_before_it_reaches_a_server(meta: dict[str, Any], code: int) -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "resources/list", {"_meta": meta})
    assert (side.last(client)["code"], side.servers.asked) == (code, [])


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen"])
def test_what_the_modern_era_has_not_is_not_found_and_not_relayed(method: str) -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, method, modern(uri="a://b"))
    assert (side.last(client)["code"], side.servers.asked) == (-32601, [])


# Results across eras


RAW = b'{"content":[{"type":"text","text":"\xe2\x80\xa8 1.0"}],  "isError":false,"x":1e2}'


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_within_an_era_a_result_is_passed_on_byte_for_byte(era: str) -> None:
    side = Side(eras={"shop": era})
    client = side.open()
    params = {"name": "get", "arguments": {}}
    side.ask(client, "x", "tools/call", modern(**params) if era == "modern" else params)
    side.asked.answer(raw=RAW)
    assert side.written(client) == b'{"jsonrpc":"2.0","id":"x","result":' + RAW + b"}\n"


def test_a_modern_client_of_a_legacy_server_gets_what_its_era_requires() -> None:
    side = Side()
    client = side.open()
    side.ask(client, 1, "tools/call", modern(name="get", _meta={"traceparent": "t", "progressToken": 4}))
    assert side.asked.params == {"name": "get", "arguments": {}, "_meta": {"traceparent": "t"}}
    side.asked.answer(raw=b'{"content":[],"_meta":{"own":1}}')
    assert side.last(client) == {
        "content": [],
        "resultType": "complete",
        "_meta": {"own": 1, INFO_KEY: {"name": "shop", "version": "9"}},
    }


def test_a_legacy_client_of_a_modern_server_gets_nothing_of_that_era() -> None:
    side = Side(eras={"shop": "modern"})
    client = side.open()
    side.call(client)
    side.asked.answer(
        raw=b'{"content":[],"isError":false,"resultType":"complete","_meta":{"%s":{}}}' % INFO_KEY.encode()
    )
    assert side.last(client) == {"content": [], "isError": False}
    side.ask(client, 2, "resources/list")
    side.asked.answer(raw=b'{"resources":[],"resultType":"complete","ttlMs":5,"cacheScope":"public"}')
    assert side.last(client) == {"resources": []}


# More input


NEEDS = {"resultType": "input_required", "requestState": "s1", "inputRequests": {"q": {"method": "elicitation/create"}}}


def test_a_legacy_client_cannot_be_asked_for_more_input() -> None:
    side = Side(eras={"shop": "modern"})
    client = side.open()
    side.call(client)
    side.asked.answer(NEEDS)
    assert side.last(client)["isError"] is True
    side.ask(client, 2, "prompts/get", {"name": "p"})
    side.asked.answer(NEEDS)
    assert side.last(client)["code"] == -32603


def test_a_retry_with_more_input_is_the_same_call() -> None:
    side = Side(eras={"shop": "modern"})
    client = side.open()
    side.ask(client, 1, "tools/call", modern(name="get", arguments={"k": 1}))
    side.asked.answer(NEEDS)
    assert side.last(client) == NEEDS
    retry = {"name": "get", "arguments": {"k": 1}, "requestState": "s1", "inputResponses": {"q": {"action": "accept"}}}
    side.ask(client, 2, "tools/call", modern(**retry))
    assert side.asked.params == retry
    side.asked.answer({"content": [{"type": "text", "text": "done"}], "resultType": "complete"})
    assert side.kinds() == ["tool_start", "tool_finish"]
    assert side.last(client)["content"] == [{"type": "text", "text": "done"}]


def test_a_retry_of_nothing_is_a_call_of_its_own() -> None:
    side = Side(eras={"shop": "modern"})
    client = side.open()
    side.ask(client, 1, "tools/call", modern(name="get", requestState="unheard"))
    assert side.kinds() == ["tool_start"]


def test_a_call_that_is_never_given_its_input_is_recorded_at_the_end() -> None:
    side = Side(eras={"shop": "modern"})
    client = side.open()
    side.ask(client, 1, "tools/call", modern(name="get"))
    side.asked.answer({"resultType": "input_required", "inputRequests": {}})
    side.agent.settle()
    (finish,) = side.events("tool_finish")
    assert (finish["ok"], finish["error_kind"]) == (False, "error")
