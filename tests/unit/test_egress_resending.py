"""What is asked for again, after how long, and when it is given up; budgets; what a run can say of it."""

from __future__ import annotations

import socket
from pathlib import Path

import anyio
import pytest
from egress_server import FakeTime, Seen, Wire, always, body_of, decisions, host_env, http, in_turn, model, run, serving

from arci.errors import EngineError
from arci.run.frames import FrameError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_an_upstream_that_recovers_is_asked_again_unseen_by_the_agent(status: int, tmp_path: Path) -> None:
    time = FakeTime()
    script = in_turn(http(status), http(status), http(200, b"ok"))
    async with serving(script) as server, run(host_env(tmp_path), model(server.port), time=time) as (egress, recorder):
        frames = await recorder.answer(recorder.ask())
        facts = egress.facts()["openai"]
        assert recorder.trial.failures == []
        assert recorder.trial.waited_s == 1.5
    assert [frame["type"] for frame in frames] == ["upstream_head", "upstream_chunk", "upstream_end"]
    assert body_of(frames) == b"ok"
    assert time.slept == [0.5, 1.0]
    assert (facts["requests"], facts["sent"], facts["resends"], facts["waited_s"]) == (1, 3, 2, 1.5)
    assert facts["throttled"] == (2 if status in (429, 529) else 0)


async def test_an_upstream_that_does_not_recover_is_given_up_with_what_it_said(tmp_path: Path) -> None:
    said = b'{"error":\n {"message": "You exceeded your quota"}}'
    time = FakeTime()
    async with (
        serving(always(http(429, said))) as server,
        run(host_env(tmp_path), model(server.port), time=time) as (egress, recorder),
    ):
        (frame,) = await recorder.answer(recorder.ask())
        (failure,) = recorder.trial.failures
        assert egress.facts()["openai"]["failed"] == {"connect": 1}
    assert len(server.seen) == 4
    assert time.slept == [0.5, 1.0, 2.0]
    assert (frame["type"], frame["kind"], frame["status"]) == ("upstream_failed", "connect", 429)
    assert frame["detail"] == failure.detail
    assert failure.detail == (
        '127.0.0.1 answered 429: {"error": {"message": "You exceeded your quota"}} (sent 4 times)'
    )


@pytest.mark.parametrize("status", [200, 201, 400, 403, 404, 422, 501])
async def test_every_other_answer_is_the_agent_s(status: int, tmp_path: Path) -> None:
    async with serving(always(http(status, b"{}"))) as server, run(host_env(tmp_path), model(server.port)) as (_, rec):
        frames = await rec.answer(rec.ask())
    assert (frames[0]["status"], frames[-1]["type"]) == (status, "upstream_end")
    assert len(server.seen) == 1


async def test_a_refused_key_is_the_host_s_trouble_where_the_key_is_the_host_s(tmp_path: Path) -> None:
    async with serving(always(http(401, b"{}"))) as server:
        models = [model(server.port), model(server.port, name="open", key=None)]
        async with run(host_env(tmp_path), *models) as (_, recorder):
            (failed,) = await recorder.answer(recorder.ask())
            frames = await recorder.answer(recorder.ask(upstream="open"))
    assert failed["detail"] == "127.0.0.1 refused the key OPENAI_API_KEY (401): {}"
    assert (frames[0]["status"], frames[-1]["type"]) == (401, "upstream_end")
    assert len(server.seen) == 2


async def test_retry_after_holds_back_every_trial_s_calls(tmp_path: Path) -> None:
    time = FakeTime()
    came: list[tuple[bytes, float]] = []
    throttled = anyio.Event()

    async def script(seen: Seen, wire: Wire) -> None:
        came.append((seen.body, time.now_s))
        await wire.send(http(429, retry_after="30") if len(came) == 1 else http(200))
        throttled.set()

    async with serving(script) as server, run(host_env(tmp_path), model(server.port), time=time) as (_, recorder):
        first = recorder.ask(body="first")
        await throttled.wait()
        while not time.slept:
            await anyio.lowlevel.checkpoint()
        second = recorder.ask(body="second")
        for number in (first, second):
            assert (await recorder.answer(number))[-1]["type"] == "upstream_end"
    assert came[0][0] == b"first"
    assert sorted(body for body, _ in came) == [b"first", b"first", b"second"]
    assert all(at >= 1030 for _, at in came[1:])


async def test_an_upstream_that_asks_for_too_much_patience_is_given_up_at_once(tmp_path: Path) -> None:
    time = FakeTime()
    async with (
        serving(always(http(503, retry_after="3600"))) as server,
        run(host_env(tmp_path), model(server.port), time=time) as (_, recorder),
    ):
        (frame,) = await recorder.answer(recorder.ask())
    assert frame["detail"] == "127.0.0.1 answered 503; it asks to wait 3600 s, 60 are waited"
    assert time.slept == []


async def test_where_no_one_listens_it_is_tried_four_times(tmp_path: Path) -> None:
    time = FakeTime()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with run(host_env(tmp_path), model(unused.getsockname()[1]), time=time) as (egress, recorder):
            (frame,) = await recorder.answer(recorder.ask())
            assert egress.facts()["openai"]["sent"] == 4
    assert (frame["type"], frame["kind"]) == ("upstream_failed", "connect")
    assert time.slept == [0.5, 1.0, 2.0]


async def test_a_connection_that_is_closed_under_a_request_is_made_anew(tmp_path: Path) -> None:
    async def script(seen: Seen, wire: Wire) -> None:
        if len(server.seen) == 2:
            wire.writer.close()
        else:
            await wire.send(http(200))

    async with serving(script) as server, run(host_env(tmp_path), model(server.port), time=FakeTime()) as (_, recorder):
        for _ in range(2):
            assert (await recorder.answer(recorder.ask()))[-1]["type"] == "upstream_end"
    assert len(server.seen) == 3
    assert server.connections == 2


async def test_what_is_no_http_is_given_up_as_such(tmp_path: Path) -> None:
    async def script(seen: Seen, wire: Wire) -> None:
        await wire.send(b"SSH-2.0-OpenSSH\r\n\r\n")
        wire.writer.close()

    async with serving(script) as server, run(host_env(tmp_path), model(server.port), time=FakeTime()) as (_, recorder):
        (frame,) = await recorder.answer(recorder.ask())
    assert (frame["type"], frame["kind"]) == ("upstream_failed", "protocol")


async def test_ten_thousand_calls_are_cut_at_the_budget_on_the_host_too(tmp_path: Path) -> None:
    async with serving(always(http(200))) as server:
        models = [model(server.port), model(server.port, name="other")]
        async with run(host_env(tmp_path), *models, budget=7) as (egress, recorder):
            numbers = [recorder.ask(upstream=("openai", "other")[n % 2]) for n in range(10_000)]
            ends = [(await recorder.answer(number))[-1] for number in numbers[:20] + numbers[-1:]]
            await recorder.until(lambda found: bool(found), numbers[-1])
            assert sum(recorder.trial.calls.values()) == 7
            assert recorder.trial.failures == []
            assert sum(facts["refused"] for facts in egress.facts().values()) == 9_993
    assert [end["type"] for end in ends] == ["upstream_end"] * 7 + ["upstream_failed"] * 14
    assert {end["kind"] for end in ends[7:]} == {"limit"}
    assert "max_model_calls: 7 calls" in ends[-1]["detail"]
    assert len(server.seen) == 7


async def test_lookups_do_not_use_up_the_calls_and_have_the_same_cap(tmp_path: Path) -> None:
    async with (
        serving(always(http(200))) as server,
        run(host_env(tmp_path), model(server.port), budget=2) as (_, recorder),
    ):
        lookups = [recorder.ask("/models", method="GET") for _ in range(3)]
        calls = [recorder.ask() for _ in range(3)]
        ends = [(await recorder.answer(number))[-1]["type"] for number in lookups + calls]
    assert ends == ["upstream_end", "upstream_end", "upstream_failed"] * 2


async def test_decisions_have_a_budget_of_their_own(tmp_path: Path) -> None:
    async with serving(always(http(200))) as server:
        declared = decisions(server.port, key=None, max_decisions=1)
        async with run(host_env(tmp_path), model(server.port), budget=1, of_decisions=declared) as (_, recorder):
            numbers = [recorder.ask(), *(recorder.ask("/v1/systemone", upstream="decisions") for _ in range(2))]
            ends = [(await recorder.answer(number))[-1] for number in numbers]
    assert [end["type"] for end in ends] == ["upstream_end", "upstream_end", "upstream_failed"]
    assert "max_decisions: 1" in ends[2]["detail"]


async def test_what_is_refused_is_never_sent(tmp_path: Path) -> None:
    async with serving(always(http(200))) as server, run(host_env(tmp_path), model(server.port)) as (egress, recorder):
        asked = [
            recorder.ask("/files"),
            recorder.ask("/../models", method="GET"),
            recorder.ask(upstream="unknown"),
            recorder.ask(headers=[["x", "1\r\nauthorization: x"]]),
            recorder.ask(body="x" * 65537),
        ]
        ends = [(await recorder.answer(number))[-1] for number in asked]
        assert recorder.trial.failures == []
        assert egress.facts()["openai"]["refused"] == 4
    assert [end["kind"] for end in ends] == ["refused"] * 4 + ["too_large"]
    assert server.connections == 0


async def test_a_number_that_comes_twice_or_a_cancelled_one_that_never_came_breaks_the_protocol(tmp_path: Path) -> None:
    async with run(host_env(tmp_path)) as (_, recorder):
        number = recorder.ask()
        with pytest.raises(FrameError, match="after 0"):
            recorder.ask(request=number)
        with pytest.raises(FrameError, match="upstream_cancel"):
            recorder.cancel(number + 1)


async def test_a_boundary_that_is_gone_ends_no_trial_by_a_traceback(tmp_path: Path) -> None:
    async with serving(always(http(200, b"x"))) as server, run(host_env(tmp_path), model(server.port)) as (egress, rec):
        told = anyio.Event()

        async def broken(frame: dict[str, object]) -> None:
            told.set()
            raise EngineError("write", "the container is gone")

        async with egress.for_trial(broken) as rec.trial:
            rec.ask()
            await told.wait()
