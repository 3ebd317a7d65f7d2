"""Every way in which an answer breaks, stalls or never ends, against real local servers."""

from __future__ import annotations

import gzip
from pathlib import Path

import anyio
import pytest
from egress_server import (
    FakeTime,
    Seen,
    Wire,
    always,
    body_of,
    host_env,
    http,
    last,
    model,
    run,
    serving,
)

from arci.run.egress import answer as answer_module

pytestmark = pytest.mark.anyio


async def test_a_server_that_does_not_answer_ends_at_the_deadline(tmp_path: Path) -> None:
    async def silent(seen: Seen, wire: Wire) -> None:
        await wire.gone()

    async with (
        serving(silent) as server,
        run(host_env(tmp_path), model(server.port, request_seconds=2.0)) as (egress, recorder),
    ):
        frames = await recorder.answer(recorder.ask())
        assert last(frames) == ("upstream_failed", "timeout")
        assert [failure.kind for failure in recorder.trial.failures] == ["timeout"]
        assert egress.facts()["openai"]["failed"] == {"timeout": 1}
    assert len(server.seen) == 1


async def test_a_head_that_dribbles_has_one_deadline_in_all(tmp_path: Path) -> None:
    async def dribble(seen: Seen, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\n")
        while not wire.writer.is_closing():
            await wire.send(b"x: y\r\n")
            await anyio.sleep(0.01)

    async with (
        serving(dribble) as server,
        run(host_env(tmp_path), model(server.port, request_seconds=0.1)) as (_, recorder),
    ):
        frames = await recorder.answer(recorder.ask())
    assert last(frames) == ("upstream_failed", "timeout")


async def test_an_answer_that_stalls_is_cut_after_what_had_come(tmp_path: Path) -> None:
    async def stall(seen: Seen, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
        await wire.gone()

    async with (
        serving(stall) as server,
        run(host_env(tmp_path), model(server.port, request_seconds=2.0)) as (_, recorder),
    ):
        frames = await recorder.answer(recorder.ask())
    assert body_of(frames) == b"half"
    assert last(frames) == ("upstream_failed", "timeout")


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
    ],
)
async def test_a_broken_answer_is_not_asked_for_again_once_a_piece_was_handed_on(data: bytes, tmp_path: Path) -> None:
    async def cut(seen: Seen, wire: Wire) -> None:
        await wire.send(data)
        wire.writer.close()

    async with serving(cut) as server, run(host_env(tmp_path), model(server.port)) as (_, recorder):
        frames = await recorder.answer(recorder.ask())
    assert frames[0]["type"] == "upstream_head"
    assert last(frames) == ("upstream_failed", "protocol")
    assert len(server.seen) == 1


async def test_an_endless_answer_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_module, "MOST_ANSWER_BYTES", 200_000)

    async def endless(seen: Seen, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while not wire.writer.is_closing():
            await wire.send(b"x" * 10_000)

    async with serving(endless) as server, run(host_env(tmp_path), model(server.port)) as (_, recorder):
        frames = await recorder.answer(recorder.ask())
        assert [failure.kind for failure in recorder.trial.failures] == ["too_large"]
    assert last(frames) == ("upstream_failed", "too_large")
    assert 0 < len(body_of(frames)) <= 200_000


async def test_an_answer_that_is_packed_all_the_same_is_unpacked(tmp_path: Path) -> None:
    packed = http(200, gzip.compress(b'{"a": 1}'), content_encoding="gzip")
    async with serving(always(packed)) as server, run(host_env(tmp_path), model(server.port)) as (_, recorder):
        frames = await recorder.answer(recorder.ask())
    assert body_of(frames) == b'{"a": 1}'
    assert frames[0]["headers"] == []


@pytest.mark.parametrize(
    "data", [http(200, b"x", content_encoding="br"), http(200, b"no gzip at all", content_encoding="gzip")]
)
async def test_an_answer_that_cannot_be_unpacked_is_no_answer(data: bytes, tmp_path: Path) -> None:
    async with serving(always(data)) as server, run(host_env(tmp_path), model(server.port)) as (_, recorder):
        frames = await recorder.answer(recorder.ask())
    assert last(frames) == ("upstream_failed", "protocol")


async def test_a_change_of_protocol_is_no_answer(tmp_path: Path) -> None:
    switch = b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"
    time = FakeTime()
    async with serving(always(switch)) as server, run(host_env(tmp_path), model(server.port), time=time) as (_, rec):
        frames = await rec.answer(rec.ask())
    assert [frame["type"] for frame in frames] == ["upstream_failed"]
    assert last(frames) == ("upstream_failed", "protocol")
