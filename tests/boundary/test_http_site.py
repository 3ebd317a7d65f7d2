"""MCP over HTTP at the agent's side: who may ask, methods, sessions, eras, order, and every cut of a stream."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from agent_driver import CLIENT_ENVELOPE, Side, modern
from hypothesis import given
from hypothesis import strategies as st

OK = {"content": [{"type": "text", "text": "fine"}], "isError": False}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get", "arguments": {}}}


def request(body: Any = PING, method: str = "POST", target: str = "/a/mcp/shop", **fields: str) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1:9", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "\r\n"]).encode() + data


class Answer:
    def __init__(self, status: int, fields: dict[str, str], body: bytes) -> None:
        self.status, self.fields, self.body = status, fields, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def answers(side: Side, connection: int) -> list[Answer]:
    data, found = side.written(connection), []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines)
        length = int(fields.get("content-length", 0))
        found.append(Answer(int(first.split(" ")[1]), fields, data[:length]))
        data = data[length:]
    return found


def ask(side: Side, *requests: bytes) -> list[Answer]:
    return answers(side, side.open(b"".join(requests)))


def one(side: Side, data: bytes) -> Answer:
    (answer,) = ask(side, data)
    return answer


# Who may ask


@pytest.mark.parametrize(
    ("target", "fields", "status"),
    [
        ("/a/mcp/shop", {}, 200),
        ("/a/mcp", {}, 200),
        ("/a/mcp/", {}, 200),
        ("/a/mcp?x=/y", {}, 200),
        ("/mcp/shop", {"Authorization": "Bearer a"}, 200),
        ("/mcp", {"Authorization": "bearer  a"}, 200),
        ("/mcp", {}, 401),
        ("/mcp", {"Authorization": "Bearer b"}, 401),
        ("/mcp", {"Authorization": "Basic a"}, 401),
        ("/b/mcp/shop", {}, 404),
        ("/b/mcp/shop", {"Authorization": "Bearer a"}, 404),
        ("/a/mcp/nosuch", {}, 404),
        ("/a/mcp", {"Origin": "http://localhost:3000"}, 200),
        ("/a/mcp", {"Origin": "http://127.0.0.1"}, 200),
        ("/a/mcp", {"Origin": "http://[::1]:5"}, 200),
        ("/a/mcp", {"Origin": "http://localhost.evil.example"}, 403),
        ("/a/mcp", {"Origin": "http://127.0.0.1:80@evil.example"}, 403),
        ("/a/mcp", {"Origin": "null"}, 403),
        ("/a/mcp", {"Content-Type": "application/json; charset=utf-8"}, 200),
        ("/a/mcp", {"Content-Type": "text/plain"}, 415),
        ("/a/mcp", {"Accept": "application/json, text/event-stream"}, 200),
        ("/a/mcp", {"Accept": "*/*;q=0.1"}, 200),
        ("/a/mcp", {"Accept": "text/event-stream"}, 406),
    ],
)
def test_who_asks_for_what_is_let_in_or_refused_without_a_word(
    target: str, fields: dict[str, str], status: int
) -> None:
    answer = one(Side(), request(target=target, **fields))
    assert answer.status == status
    assert status == 200 or answer.body == b""


@pytest.mark.parametrize("target", ["/", "/a", "/a/other", "/a/mcp/shop/more", "*", "http://x/a/mcp", "/.well-known/x"])
def test_a_first_request_for_another_place_gets_no_answer(target: str) -> None:
    side = Side()
    connection = side.open(request(target=target))
    assert (side.is_closed(connection), side.written(connection)) == (True, b"")


def test_a_later_request_for_another_place_is_not_found() -> None:
    assert [a.status for a in ask(Side(), request(), request(b"", "GET", "/other"), request())] == [200, 404, 200]


def test_a_refused_request_with_a_body_ends_what_is_read_but_is_answered_first() -> None:
    side = Side()
    connection = side.open(request(target="/b/mcp") + request())
    side.send(connection, b"x" * 100_000)
    (answer,) = answers(side, connection)
    assert (answer.status, answer.fields["connection"]) == (404, "close")
    assert (side.has_ended_output(connection), side.is_closed(connection)) == (True, False)
    side.agent.half_closed(connection)
    assert side.is_closed(connection)


def test_who_goes_on_sending_after_the_last_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.connections.FLOOD_BYTES", 50_000)
    side = Side()
    connection = side.open(request(target="/b/mcp"))
    side.send(connection, b"x" * 60_000)
    assert side.is_closed(connection)


# Methods


@pytest.mark.parametrize(
    ("method", "status", "allow"),
    [("GET", 405, True), ("HEAD", 405, True), ("PUT", 405, True), ("OPTIONS", 204, True), ("DELETE", 200, False)],
)
def test_other_methods_have_their_statuses_and_the_connection_goes_on(method: str, status: int, allow: bool) -> None:
    first, second = ask(Side(), request(b"", method), request())
    assert (first.status, first.body, "allow" in first.fields) == (status, b"", allow)
    assert second.status == 200


def test_a_notification_is_accepted_without_a_body() -> None:
    answer = one(Side(), request({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    assert (answer.status, answer.body) == (202, b"")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", json.dumps([PING]).encode(), b"[" * 5000, b'{"jsonrpc":"2.0","id":null,"method":"x"}']
)
def test_a_body_that_is_no_message_is_answered_and_recorded(body: bytes) -> None:
    side = Side()
    answer = one(side, request(body))
    assert (answer.status, answer.json["error"]["code"] in (-32700, -32600), side.kinds()) == (400, True, ["protocol"])


def test_an_unreadable_request_is_answered_and_recorded() -> None:
    side = Side()
    (answer,) = ask(side, b"POST /a/mcp HTTP/1.1\r\nContent-Length: x\r\n\r\n")
    assert (answer.status, answer.fields["connection"], side.kinds()) == (400, "close", ["protocol"])


def test_a_body_over_the_limit_is_refused_before_it_is_sent() -> None:
    (answer,) = ask(Side(), b"POST /a/mcp HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n")
    assert answer.status == 413


def test_a_client_that_waits_is_told_to_go_on_unless_it_is_refused() -> None:
    body = json.dumps(PING).encode()
    waits = request(body, Expect="100-continue").removesuffix(body)
    side = Side()
    connection = side.open(waits)
    assert side.written(connection) == b"HTTP/1.1 100 Continue\r\n\r\n"
    side.send(connection, body)
    assert [a.status for a in answers(side, connection)] == [100, 200]
    assert [a.status for a in ask(side, waits.replace(b"/a/mcp", b"/b/mcp"))] == [404]


# Sessions


def initialize(side: Side) -> str:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}}
    answer = one(side, request({**PING, "method": "initialize", "params": params}))
    assert answer.json["result"]["protocolVersion"] == "2025-06-18"
    return answer.fields["mcp-session-id"]


def test_a_session_is_offered_kept_over_connections_and_ended() -> None:
    side = Side()
    session = initialize(side)
    assert session != initialize(side)
    assert one(side, request(Mcp_Session_Id=session)).status == 200
    assert one(side, request(b"", "DELETE", Mcp_Session_Id=session)).status == 200
    gone = one(side, request(Mcp_Session_Id=session))
    assert (gone.status, gone.json["id"]) == (404, 1)
    assert one(side, request(b"", "DELETE", Mcp_Session_Id=session)).status == 404
    assert one(side, request()).status == 200


def test_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.http_site.MOST_SESSIONS", 2)
    side = Side()
    first, *rest = (initialize(side) for _ in range(3))
    assert [one(side, request(Mcp_Session_Id=s)).status for s in (first, *rest)] == [404, 200, 200]


def test_one_id_twice_is_refused_in_a_session_and_no_matter_without() -> None:
    side = Side()
    session = initialize(side)
    asked = request(CALL, Mcp_Session_Id=session)
    first, second = side.open(asked), side.open(asked)
    assert (answers(side, first), answers(side, second)[0].json["error"]["code"]) == ([], -32600)
    third, fourth = side.open(request(CALL)), side.open(request(CALL))
    for call in side.servers.asked:
        call.answer(OK)
    assert [answers(side, c)[0].json["result"] for c in (first, third, fourth)] == [OK, OK, OK]


def test_a_call_is_cancelled_from_another_connection_of_its_session() -> None:
    side = Side()
    session = initialize(side)
    connection = side.open(request(CALL, Mcp_Session_Id=session))
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert one(side, request(cancel, Mcp_Session_Id=session)).status == 202
    assert side.asked.cancelled == [""]
    assert [(a.status, a.body) for a in answers(side, connection)] == [(202, b"")]


# Eras


MODERN_FIELDS = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "get"}
MODERN_CALL = {**CALL, "params": modern(name="get", arguments={})}


def test_a_modern_call_needs_no_session_and_gets_a_modern_result() -> None:
    side = Side()
    connection = side.open(request(MODERN_CALL, **MODERN_FIELDS))
    side.asked.answer(OK)
    (answer,) = answers(side, connection)
    assert (answer.status, answer.json["result"]["resultType"]) == (200, "complete")


@pytest.mark.parametrize(
    "changes",
    [
        {"MCP_Protocol_Version": ""},
        {"MCP_Protocol_Version": "2026-07-29"},
        {"Mcp_Method": "tools/list"},
        {"Mcp_Method": ""},
        {"Mcp_Name": "put"},
        {"Mcp_Name": ""},
        {"Mcp_Name": "=?base64?Z2V0Cg==?="},
        {"Mcp_Name": "=?base64?%%%?="},
        {"mcp_name": "get"},
    ],
)
def test_headers_that_do_not_fit_a_modern_call_are_refused(changes: dict[str, str]) -> None:
    side = Side()
    answer = one(side, request(MODERN_CALL, **{**MODERN_FIELDS, **changes}))
    assert (answer.status, answer.json["error"]["code"], answer.json["id"]) == (400, -32020, 1)
    assert side.servers.asked == []


def test_a_name_may_come_encoded() -> None:
    side = Side()
    side.open(request(MODERN_CALL, **{**MODERN_FIELDS, "Mcp_Name": "=?base64?Z2V0?="}))
    assert len(side.servers.asked) == 1


@pytest.mark.parametrize(
    ("body", "fields", "status", "code"),
    [
        ({**PING, "params": modern()}, {"Mcp_Method": "ping", "MCP_Protocol_Version": "2026-07-28"}, 404, -32601),
        (PING, {"MCP_Protocol_Version": "2026-07-28"}, 400, -32602),
        (
            {**PING, "params": {"_meta": {**CLIENT_ENVELOPE, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}}},
            {"MCP_Protocol_Version": "2030-01-01", "Mcp_Method": "ping"},
            400,
            -32022,
        ),
        ({"jsonrpc": "2.0", "method": "notifications/x"}, {"MCP_Protocol_Version": "2030-01-01"}, 400, -32022),
        ({**PING, "method": "resources/nosuch"}, {"MCP_Protocol_Version": "2025-06-18"}, 200, -1),
    ],
)
def test_an_errors_status_is_that_of_its_era(body: Any, fields: dict[str, str], status: int, code: int) -> None:
    side = Side()
    connection = side.open(request(body, **fields))
    for asked in side.servers.asked:
        asked.answer(error={"code": -1, "message": "m"})
    (answer,) = answers(side, connection)
    assert (answer.status, answer.json["error"]["code"]) == (status, code)


# Order


def calls(side: Side, count: int) -> int:
    return side.open(b"".join(request({**CALL, "id": id}) for id in range(count)))


def test_pipelined_requests_are_under_way_at_once_and_answered_in_order() -> None:
    side = Side()
    connection = calls(side, 3)
    first, second, third = side.servers.asked
    third.answer(OK)
    first.answer(OK)
    assert [a.json["id"] for a in answers(side, connection)] == [0]
    second.answer(OK)
    assert [a.json["id"] for a in answers(side, connection)] == [0, 1, 2]


def test_too_many_pipelined_requests_end_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arci.boundary.http_talk.MOST_UNDER_WAY", 2)
    side = Side()
    connection = calls(side, 4)
    for asked in side.servers.asked:
        asked.answer(OK)
    assert [a.status for a in answers(side, connection)] == [200, 200, 400]
    assert side.has_ended_output(connection)


def test_a_client_that_asks_for_the_end_gets_it_after_its_answer() -> None:
    side = Side()
    connection = side.open(request(CALL, Connection="close") + request())
    assert not side.has_ended_output(connection)
    side.asked.answer(OK)
    (answer,) = answers(side, connection)
    assert (answer.fields["connection"], side.has_ended_output(connection)) == ("close", True)


def test_who_sends_and_closes_its_side_is_still_answered() -> None:
    side = Side()
    connection = calls(side, 2)
    side.agent.half_closed(connection)
    for asked in side.servers.asked:
        asked.answer(OK)
    assert (len(answers(side, connection)), side.is_closed(connection)) == (2, True)


def test_an_answer_for_who_has_gone_is_dropped() -> None:
    side = Side()
    connection = calls(side, 1)
    side.agent.closed(connection)
    side.asked.answer(OK)
    assert (answers(side, connection), side.kinds()) == ([], ["tool_start", "tool_finish"])


def test_a_request_that_ends_in_the_middle_is_noted() -> None:
    side = Side()
    connection = side.open(request()[:-3])
    side.agent.half_closed(connection)
    assert side.kinds() == ["protocol"]


# Cuts

STREAM = b"".join(
    [
        request({**PING, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
        request({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(CALL),
        request(b"{"),
        request(b"", "GET"),
        request(MODERN_CALL, **MODERN_FIELDS),
        b"POST /a/mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n" + json.dumps(PING).encode()[:4] + b"\r\n",
        b"%x\r\n" % (len(json.dumps(PING)) - 4) + json.dumps(PING).encode()[4:] + b"\r\n0\r\n\r\n",
        request(target="/b/mcp"),
    ]
)


def run_in_pieces(cuts: list[int]) -> tuple[bytes, list[dict[str, Any]]]:
    side = Side()
    places = [0, *sorted(cuts), len(STREAM)]
    connection = side.open(b"")
    answered = 0
    for start, end in pairwise(places):
        side.send(connection, STREAM[start:end])
        for asked in side.servers.asked[answered:]:
            asked.answer(OK)
            answered += 1
    side.agent.half_closed(connection)
    return side.written(connection), side.events()


IN_ONE = run_in_pieces([])


@given(st.lists(st.integers(0, len(STREAM)), max_size=20))
def test_no_cut_of_the_stream_changes_an_answer(cuts: list[int]) -> None:
    written, events = run_in_pieces(cuts)
    assert written == IN_ONE[0]
    assert sorted(map(repr, events)) == sorted(map(repr, IN_ONE[1]))
