"""Clients of a real recorder over real sockets: half-closed ones, crowds, and what hostile ones cost in memory."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from small_host import DEADLINE_S, Client, result_of

MIB = 1 << 20


def call_line(id: Any, tool: str = "echo", **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode() + b"\n"


def peak_mib(recorder: Any) -> float:
    status = Path(f"/proc/{recorder.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def drained(client: Client) -> list[dict[str, Any]]:
    """Everything until the recorder ends the connection."""
    return [json.loads(line) for line in iter(client.line, b"")]


# Half-closed


def test_calls_sent_before_a_half_close_are_answered_and_then_the_connection_ends(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    client.send(b"".join(call_line(n, value=n) for n in range(20)))
    client.socket.shutdown(socket.SHUT_WR)
    assert [(f["id"], result_of(f["result"])) for f in drained(client)] == [(n, n) for n in range(20)]
    recorder.finish()
    assert len(recorder.events("tool_finish")) == 20


def test_the_same_over_tcp(bench: Any) -> None:
    recorder = bench.recorder()
    recorder.begin(listen=["tcp:127.0.0.1:0"])
    port = int(recorder.until("ready")["listening"][0].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), DEADLINE_S) as client:
        client.sendall(b"ARCI mcp agent-token tools\n" + call_line("x", value="v"))
        client.shutdown(socket.SHUT_WR)
        answer = json.loads(client.makefile("rb").read())
    assert (answer["id"], result_of(answer["result"])) == ("x", "v")


def test_who_hangs_up_in_a_call_does_not_stop_it(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    client.send(call_line(1, "reserve", order_id="o", sku="s", quantity=1))
    client.close()
    assert recorder.finish()["reservations"] == {"o": 1}


# Crowds


def test_five_hundred_connections_are_served_at_once(bench: Any) -> None:
    recorder = bench.ready(budgets={"max_tool_calls": 1000})
    crowd = [recorder.connect() for _ in range(500)]
    for number, client in enumerate(crowd):
        client.send(call_line(number, value=number))
    assert [c.frame()["id"] for c in crowd] == list(range(500))
    recorder.finish()
    assert len(recorder.events("tool_finish")) == 500


def test_a_connection_for_each_call_is_one_trial_all_the_same(bench: Any) -> None:
    recorder = bench.ready(budgets={"max_tool_calls": 1000})
    for number in range(200):
        client = recorder.connect()
        assert result_of(client.call("echo", value=number)) == number
        client.close()
    recorder.finish()
    assert [e["occurrence"] for e in recorder.events("tool_start")] == list(range(200))


# What hostile clients cost


def test_fifty_clients_with_lines_of_brackets_cost_no_more_than_a_few(bench: Any) -> None:
    recorder = bench.ready()
    crowd = [recorder.connect() for _ in range(50)]
    other = recorder.connect()
    for round in range(8):
        for client in crowd:
            with contextlib.suppress(OSError):
                client.send(b"[" * (MIB - 1) + (b"\n" if round == 7 else b"["))
        other.ask(round, "ping")
        assert other.frame()["id"] == round
    assert peak_mib(recorder) < 256
    assert "flooding" in json.dumps(recorder.until("event"))


def test_whole_lines_of_brackets_are_refused_one_after_the_other(bench: Any) -> None:
    recorder = bench.ready()
    for client in [recorder.connect() for _ in range(12)]:
        client.send(b"[" * (8 * MIB) + b"\n")
        assert client.frame()["error"]["code"] == -32600
    assert peak_mib(recorder) < 128


@pytest.mark.timeout(600)  # it parses and writes as fast as it can, and nothing is measured
@pytest.mark.parametrize("piece", ["1.5", "[]", '"ab"', "1"], ids=["floats", "arrays", "strings", "ones"])
def test_large_calls_in_a_row_are_bounded_whatever_they_hold(bench: Any, piece: str) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    count = {"1.5": 700_000, "[]": 190_000, '"ab"': 900_000, "1": 2_000_000}[piece]
    value = "[" + ",".join([piece] * count) + "]"
    head = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"value":'
    lines = [(head % n + value + "}}}\n").encode() for n in range(5)]

    def flood() -> None:
        with contextlib.suppress(OSError):
            for line in lines:
                client.send(line)

    def listen_as_host() -> None:
        while os.read(recorder.process.stdout.fileno(), MIB):
            pass

    threads = [threading.Thread(target=flood), threading.Thread(target=listen_as_host)]
    for thread in threads:
        thread.start()
    ids = [client.frame()["id"] for _ in lines]
    peak = peak_mib(recorder)
    recorder.process.stdin.close()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert sorted(ids) == list(range(5))
    assert peak < 256
