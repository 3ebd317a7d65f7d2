"""Calls of a trial against real local servers: answers handed on as they come, and calls that are given up."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from egress_server import (
    KEY,
    Recorder,
    Seen,
    Wire,
    always,
    body_of,
    decisions,
    host_env,
    http,
    last,
    model,
    run,
    serving,
)

from arci.run.egress.failure import CallFailed

pytestmark = pytest.mark.anyio


async def test_an_answer_comes_whole_with_the_key_added_by_the_host_alone(tmp_path: Path) -> None:
    body = b'{"choices": []}'
    async with serving(always(http(200, body, content_type="application/json", set_cookie="a=b"))) as server:
        async with run(host_env(tmp_path), model(server.port)) as (egress, recorder):
            headers = [["authorization", "Bearer trial-token"], ["cookie", "a=b"], ["x-title", "t"]]
            frames = await recorder.answer(recorder.ask(headers=headers, body='{"a": 1}'))
        assert [frame["type"] for frame in frames] == ["upstream_head", "upstream_chunk", "upstream_end"]
        assert frames[0]["status"] == 200
        assert frames[0]["headers"] == [["content-length", "15"], ["content-type", "application/json"]]
        assert body_of(frames) == body
        (seen,) = server.seen
        assert seen.line == "POST /v1/chat/completions HTTP/1.1"
        assert seen.body == b'{"a": 1}'
        assert sorted(seen.headers) == [
            ("accept-encoding", "identity"),
            ("authorization", f"Bearer {KEY}"),
            ("content-length", "8"),
            ("host", f"127.0.0.1:{server.port}"),
            ("x-title", "t"),
        ]
        facts = egress.facts()["openai"]
        assert (facts["requests"], facts["sent"], facts["resends"], facts["received_bytes"]) == (1, 1, 0, 15)


async def test_each_kind_has_its_own_key_header_and_none_is_sent_where_there_is_no_key(tmp_path: Path) -> None:
    async with serving(always(http(200))) as server:
        models = [
            model(server.port, name="anthropic", kind="anthropic", base_url=f"http://localhost:{server.port}"),
            model(server.port, name="open", key=None),
        ]
        env = host_env(tmp_path, TYPESAFE_API_KEY="ts-key")
        async with run(env, *models, of_decisions=decisions(server.port)) as (_, recorder):
            await recorder.answer(recorder.ask("/v1/messages", upstream="anthropic"))
            await recorder.answer(recorder.ask(upstream="open"))
            await recorder.answer(recorder.ask("/v1/models", upstream="decisions", method="GET"))
    names = ("x-api-key", "authorization")
    assert [[seen.header(name) for name in names] for seen in server.seen] == [
        [KEY, None],
        [None, None],
        [None, "Bearer ts-key"],
    ]
    assert server.seen[2].line == "GET /v1/models HTTP/1.1"


async def test_pieces_are_handed_on_as_they_come(tmp_path: Path) -> None:
    go_on = anyio.Event()

    async def dribble(seen: Seen, wire: Wire) -> None:
        await wire.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\ndata 1\r\n")
        await go_on.wait()
        await wire.send(b"6\r\ndata 2\r\n0\r\n\r\n")

    async with serving(dribble) as server, run(host_env(tmp_path), model(server.port)) as (_, recorder):
        number = recorder.ask()
        frames = await recorder.until(lambda found: len(found) == 2, number)
        assert body_of(frames) == b"data 1"
        go_on.set()
        frames = await recorder.answer(number)
    assert body_of(frames) == b"data 1data 2"
    assert "transfer-encoding" not in dict(frames[0]["headers"])


async def test_a_redirect_is_an_answer_and_the_key_goes_nowhere_else(tmp_path: Path) -> None:
    async with serving(always(http(200))) as thief:
        target = f"http://127.0.0.1:{thief.port}/v1/chat/completions"
        async with (
            serving(always(http(307, location=target))) as server,
            run(host_env(tmp_path), model(server.port)) as (_, recorder),
        ):
            frames = await recorder.answer(recorder.ask())
    assert frames[0]["status"] == 307
    assert ["location", target] in frames[0]["headers"]
    assert last(frames) == ("upstream_end", None)
    assert thief.connections == 0


async def test_cookies_of_one_answer_are_not_sent_with_the_next_request(tmp_path: Path) -> None:
    async with (
        serving(always(http(200, set_cookie="session=1; Path=/"))) as server,
        run(host_env(tmp_path), model(server.port)) as (_, recorder),
    ):
        for _ in range(2):
            await recorder.answer(recorder.ask())
    assert [seen.header("cookie") for seen in server.seen] == [None, None]
    assert server.connections == 1


async def test_a_hung_up_call_is_closed_and_nothing_more_is_sent_for_it(tmp_path: Path) -> None:
    closed = anyio.Event()

    async def hold(seen: Seen, wire: Wire) -> None:
        if seen.body == b"stay":
            await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
            await wire.gone()
            closed.set()
        else:
            await wire.send(http(200))

    async with serving(hold) as server, run(host_env(tmp_path), model(server.port)) as (egress, recorder):
        number = recorder.ask(body="stay")
        await recorder.until(lambda found: len(found) == 2, number)
        recorder.cancel(number)
        await closed.wait()
        recorder.cancel(number)
        assert last(await recorder.answer(recorder.ask())) == ("upstream_end", None)
        assert [f["type"] for f in recorder.frames if f["request"] == number] == ["upstream_head", "upstream_chunk"]
        assert egress.facts()["openai"]["cancelled"] == 1


async def test_the_end_of_a_trial_closes_its_calls_and_those_of_others_go_on(tmp_path: Path) -> None:
    closed, release = anyio.Event(), anyio.Event()

    async def hold(seen: Seen, wire: Wire) -> None:
        if seen.body == b"stay":
            await wire.gone()
            closed.set()
        else:
            await release.wait()
            await wire.send(http(200))

    other = Recorder()
    async with serving(hold) as server, run(host_env(tmp_path), model(server.port)) as (egress, recorder):
        async with egress.for_trial(other.send) as other.trial:
            other.ask(body="stay")
            number = recorder.ask()
            while len(server.seen) < 2:
                await anyio.lowlevel.checkpoint()
        await closed.wait()
        release.set()
        assert last(await recorder.answer(number)) == ("upstream_end", None)
    assert other.frames == []


async def test_a_hundred_slow_calls_overlap(tmp_path: Path) -> None:
    everyone = anyio.Event()

    async def slow(seen: Seen, wire: Wire) -> None:
        if len(server.seen) == 100:
            everyone.set()
        await everyone.wait()
        await wire.send(http(200))

    async with (
        serving(slow) as server,
        run(host_env(tmp_path), model(server.port, concurrency=100), budget=100) as (_, recorder),
    ):
        numbers = [recorder.ask() for _ in range(100)]
        ends = [last(await recorder.answer(number)) for number in numbers]
    assert ends == [("upstream_end", None)] * 100


async def test_no_more_calls_than_declared_are_under_way_whatever_the_trials(tmp_path: Path) -> None:
    under_way, most = 0, 0

    async def count(seen: Seen, wire: Wire) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        under_way -= 1
        await wire.send(http(200))

    async with serving(count) as server, run(host_env(tmp_path), model(server.port, concurrency=3)) as (_, recorder):
        for number in [recorder.ask() for _ in range(20)]:
            await recorder.answer(number)
    assert most == 3
    assert server.connections <= 3


async def test_calls_given_up_at_any_stage_leave_the_way_free_for_others(tmp_path: Path) -> None:
    async def script(seen: Seen, wire: Wire) -> None:
        if seen.body == b"silent":
            await wire.gone()
        elif seen.body == b"half":
            await wire.send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
            await wire.gone()
        else:
            await wire.send(http(200))

    async with (
        serving(script) as server,
        run(host_env(tmp_path), model(server.port, concurrency=4), budget=1000) as (egress, recorder),
    ):
        for stage in range(60):
            numbers = [recorder.ask(body=("silent", "half")[n % 2]) for n in range(8)]
            for _ in range(stage):
                await anyio.lowlevel.checkpoint()
            for number in numbers:
                recorder.cancel(number)
        for number in [recorder.ask() for _ in range(8)]:
            assert last(await recorder.answer(number)) == ("upstream_end", None)
        assert egress.facts()["openai"]["cancelled"] == 480


async def test_preflight_asks_outside_any_trial(tmp_path: Path) -> None:
    async with serving(always(http(200, b'{"data": []}', x_a="b"))) as server:
        entry = model(server.port, name="claude", kind="anthropic", base_url=f"http://localhost:{server.port}")
        async with run(host_env(tmp_path), entry, budget=0) as (egress, recorder):
            reply = await egress.ask("claude", "GET", "/v1/models")
            with pytest.raises(CallFailed) as caught:
                await egress.ask("claude", "GET", "/v1/files")
    assert (reply.status, reply.body) == (200, b'{"data": []}')
    assert ("x-a", "b") in reply.headers
    assert server.seen[0].header("x-api-key") == KEY
    assert server.seen[0].header("anthropic-version") == "2023-06-01"
    assert caught.value.failure.kind == "refused"
    assert recorder.trial.calls == {"claude": 0}
