"""HTTP clients of a real recorder: keep-alive, chunks, many connections, waiting clients, slow and silent ones."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any

import pytest
from small_host import DEADLINE_S, result_of

PATH = "/agent-token/mcp/tools"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture
def recorder(bench: Any) -> Any:
    """One that listens on TCP too; `port` is where."""
    recorder = bench.recorder()
    recorder.begin(listen=[recorder.address, "tcp:127.0.0.1:0"], budgets={"max_tool_calls": 1000})
    recorder.port = int(recorder.until("ready")["listening"][1].rpartition(":")[2])
    return recorder


def connected(recorder: Any) -> HTTPConnection:
    return HTTPConnection("127.0.0.1", recorder.port, timeout=DEADLINE_S)


def call(id: int, tool: str = "echo", **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()


def post(client: HTTPConnection, body: Any, **headers: str) -> tuple[int, Any]:
    client.request("POST", PATH, body, {**HEADERS, **headers})
    response = client.getresponse()
    data = response.read()
    return response.status, json.loads(data) if data else None


def test_one_connection_serves_many_requests_whole_or_in_chunks(recorder: Any) -> None:
    client = connected(recorder)
    for number in range(20):
        body = call(number, value=["\u2028", number])
        status, answer = post(client, body if number % 2 else iter([body[:7], body[7:]]))
        assert (status, answer["id"], result_of(answer["result"])) == (200, number, ["\u2028", number])
    client.close()
    recorder.finish()
    assert len(recorder.events("tool_finish")) == 20
    assert recorder.events("protocol") == []


def test_fifty_clients_at_once_are_all_answered(recorder: Any) -> None:
    def ask(number: int) -> Any:
        client = connected(recorder)
        found = [result_of(post(client, call(1, value=[number, n]))[1]["result"]) for n in range(4)]
        client.close()
        return found

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(ask, range(50))) == [[[number, n] for n in range(4)] for number in range(50)]


def test_both_transports_are_one_trial(recorder: Any) -> None:
    client = connected(recorder)
    assert post(client, call(1, "reserve", order_id="o", sku="s", quantity=2))[0] == 200
    assert result_of(recorder.connect().call("get_stock", sku="s")) == 8
    client.close()
    recorder.finish()
    assert [e["tool"] for e in recorder.events("tool_start")] == ["reserve", "get_stock"]


def test_a_refusal_reaches_a_client_that_is_still_sending(recorder: Any) -> None:
    with socket.create_connection(("127.0.0.1", recorder.port), DEADLINE_S) as client:
        client.sendall(b"POST /wrong/mcp HTTP/1.1\r\nContent-Length: 8000000\r\n\r\n" + b"x" * 8_000_000)
        data = client.makefile("rb").read()
    assert data == b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def test_a_client_that_half_closes_is_answered_and_the_connection_ends(recorder: Any) -> None:
    body = call(1, value="v")
    with socket.create_connection(("127.0.0.1", recorder.port), DEADLINE_S) as client:
        client.sendall(f"POST {PATH} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        client.shutdown(socket.SHUT_WR)
        head, _, answer = client.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert result_of(json.loads(answer)["result"]) == "v"


def test_silent_and_slow_clients_keep_nobody_from_an_answer(recorder: Any) -> None:
    slow = [socket.create_connection(("127.0.0.1", recorder.port), DEADLINE_S) for _ in range(100)]
    for number, client in enumerate(slow):
        client.sendall(f"POST {PATH} HTTP/1.1\r\nContent-Length: 8000000\r\n\r\n".encode()[: number * 2])
    other = connected(recorder)
    assert post(other, call(1, value=1))[0] == 200
    other.close()
    for client in slow:
        client.close()
    assert recorder.finish()["stock"] == 10
