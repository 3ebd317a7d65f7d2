"""Hostile connections to a real recorder: bad frames, floods, crowds, who does not read."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path
from typing import Any

import pytest
from small_host import result_of

# Hostile connections


def test_hostile_frames_are_answered_and_the_trial_goes_on(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    for line in (
        b"\x00\xff garbage",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"reserve"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"value":NaN}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"value":"\\udc00"}}}',
        b"[" * 200 + b"]" * 200,
        b"{" * 8_000_000,
    ):
        client.send(line + b"\n")
        assert client.frame()["error"]["code"] in (-32700, -32600)
    assert result_of(client.call("echo", value=[1])) == [1]
    assert recorder.finish()["confirmed"] == []
    assert len(recorder.events("protocol")) == 7


@pytest.mark.parametrize("hello", [b"ARCI worker wrong\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 1000])
def test_a_wrong_hello_is_ended_without_a_byte(bench: Any, hello: bytes) -> None:
    assert bench.ready().connect(hello).line() == b""


def peak_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def flood(client: Any, piece: bytes, times: int) -> bool:
    """Whether the recorder has ended the connection."""
    try:
        for _ in range(times):
            client.send(piece)
    except OSError:
        return True
    return bool(client.line() == b"")


def test_an_endless_line_is_ended_in_bounded_memory(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    assert flood(client, b"x" * (1 << 20), 200)
    assert peak_kib(recorder.process.pid) < 100 * 1024
    assert result_of(recorder.connect().call("echo", value=1)) == 1


def test_unfinished_lines_of_many_connections_share_one_budget(bench: Any) -> None:
    recorder = bench.ready()
    clients = [recorder.connect() for _ in range(14)]
    for client in clients:
        client.send(b"y" * (7 << 20))
    assert "flooding" in recorder.until("event")["event"]["detail"]
    assert peak_kib(recorder.process.pid) < 160 * 1024
    assert result_of(recorder.connect().call("echo", value=1)) == 1


def send_until_full(client: Any, data: bytes) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            client.socket.send(data)


def test_who_does_not_read_is_not_read_from(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    client.socket.settimeout(0.0)
    ping = b'{"jsonrpc":"2.0","id":"' + b"p" * 4000 + b'","method":"ping"}\n'
    send_until_full(client, ping)
    other = recorder.connect()
    for n in range(20):
        assert result_of(other.call("echo", value=n)) == n
    send_until_full(client, ping)
    assert peak_kib(recorder.process.pid) < 100 * 1024


def test_more_connections_than_are_served_wait_and_harm_nobody(bench: Any) -> None:
    recorder = bench.ready()
    first = recorder.connect()
    crowd = [recorder.connect() for _ in range(250)]
    assert result_of(first.call("echo", value=1)) == 1
    for client in crowd[:100]:
        client.close()
    assert result_of(crowd[-1].call("echo", value=2)) == 2


def test_few_descriptors_stop_new_connections_and_nothing_else(bench: Any) -> None:
    recorder = bench.recorder()
    resource.prlimit(recorder.process.pid, resource.RLIMIT_NOFILE, (30, 30))
    recorder.begin()
    recorder.until("ready")
    first = recorder.connect()
    crowd = [recorder.connect() for _ in range(60)]
    assert result_of(first.call("echo", value=1)) == 1
    for client in (first, *crowd):
        client.close()
    assert recorder.finish()["stock"] == 10
