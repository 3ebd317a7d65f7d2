"""No key in a frame, exception or log; no proxy or store that was not asked for; no call where none may be made."""

from __future__ import annotations

import base64
import json
import logging
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
from egress_server import (
    CERTIFICATE,
    KEY,
    FakeTime,
    Seen,
    Wire,
    always,
    body_of,
    decisions,
    host_env,
    http,
    model,
    run,
    serving,
)

from arci.errors import SpecError
from arci.run.egress import permission
from arci.run.egress.client import Client
from arci.run.egress.egress import open_egress
from arci.run.egress.failure import CallFailed
from arci.run.egress.permission import EgressForbidden
from arci.run.egress.routes import Outgoing
from arci.run.egress.upstream import upstreams_of
from arci.run.masking import Masks

pytestmark = pytest.mark.anyio


def everything(frames: list[dict[str, Any]]) -> str:
    return json.dumps(frames) + body_of(frames).decode("utf-8", "replace")


@pytest.mark.parametrize("status", [200, 400, 401, 503])
async def test_a_key_that_the_upstream_echoes_is_in_no_frame_and_no_log(
    status: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def echo(seen: Seen, wire: Wire) -> None:
        said = seen.header("authorization") or ""
        packed = base64.b64encode(said.encode()).decode()
        body = f"{said} {packed}".encode()
        await wire.send(http(status, body))

    async with serving(echo) as server, run(host_env(tmp_path), model(server.port), time=FakeTime()) as (egress, rec):
        frames = await rec.answer(rec.ask())
        told = everything(frames) + str(rec.trial.failures) + json.dumps(egress.facts())
    assert KEY.encode() in server.raw
    for form in (KEY, base64.b64encode(f"Bearer {KEY}".encode()).decode()[12:-4]):
        assert form not in told
        assert form not in caplog.text


async def test_a_key_in_a_header_of_the_answer_is_masked(tmp_path: Path) -> None:
    async with (
        serving(always(http(200, x_echo=f"Bearer {KEY}"))) as server,
        run(host_env(tmp_path), model(server.port)) as (_, recorder),
    ):
        frames = await recorder.answer(recorder.ask())
    assert ["x-echo", "Bearer <secret:OPENAI_API_KEY>"] in frames[0]["headers"]


async def test_an_error_about_a_header_quotes_no_key_in_any_part_of_its_traceback() -> None:
    async with serving(always(http(200))) as server:
        (upstream,) = upstreams_of([model(server.port)], None)
        client = Client(1, Masks({"OPENAI_API_KEY": KEY}))
        with pytest.raises(CallFailed) as caught:
            await client.send(upstream, Outgoing("POST", "/v1/responses", (), b"", True), KEY + "\n")
        await client.close()
    text = "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
    assert "the call could not be made (LocalProtocolError)" in text
    assert KEY not in text


async def test_proxies_of_the_environment_are_not_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(always(http(200))) as proxy, serving(always(http(200))) as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            for variable in (name, name.lower()):
                monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        async with run(host_env(tmp_path), model(server.port)) as (_, recorder):
            frames = await recorder.answer(recorder.ask())
    assert frames[0]["status"] == 200
    assert proxy.connections == 0


async def test_a_proxy_that_was_asked_for_sees_the_host_and_no_key_and_loopback_goes_without_it(tmp_path: Path) -> None:
    refusal = http(403)
    async with serving(always(refusal)) as proxy, serving(always(http(200))) as server:
        env = host_env(tmp_path, ARCI_HTTPS_PROXY=f"http://me:hunter2-word@127.0.0.1:{proxy.port}")
        models = [model(1, base_url="https://api.openai.com/v1"), model(server.port, name="local")]
        async with run(env, *models, time=FakeTime()) as (_, recorder):
            (frame,) = await recorder.answer(recorder.ask())
            frames = await recorder.answer(recorder.ask(upstream="local"))
    assert (frame["kind"], frame["detail"]) == ("connect", "the proxy refused (403 X) (sent 4 times)")
    assert frames[0]["status"] == 200
    assert {seen.line for seen in proxy.seen} == {"CONNECT api.openai.com:443 HTTP/1.1"}
    credentials = base64.b64encode(b"me:hunter2-word").decode()
    assert proxy.seen[0].header("proxy-authorization") == f"Basic {credentials}"
    assert KEY.encode() not in proxy.raw
    assert b"me:hunter2-word" not in server.raw
    assert credentials.encode() not in server.raw


async def test_a_certificate_of_no_known_authority_is_refused_unless_its_bundle_is_named(tmp_path: Path) -> None:
    async with serving(always(http(200)), tls=True) as server:
        entry = model(server.port, base_url=f"https://localhost:{server.port}/v1")
        async with run(host_env(tmp_path), entry, time=FakeTime()) as (_, recorder):
            (frame,) = await recorder.answer(recorder.ask())
        assert (frame["kind"], server.raw) == ("connect", b"")
        assert "certificate verify failed" in frame["detail"]
        async with run(host_env(tmp_path, ARCI_CA_BUNDLE=str(CERTIFICATE)), entry) as (_, recorder):
            frames = await recorder.answer(recorder.ask())
        assert frames[0]["status"] == 200
        other_name = model(server.port, base_url=f"https://127.0.0.1:{server.port}/v1")
        env = host_env(tmp_path, ARCI_CA_BUNDLE=str(CERTIFICATE))
        async with run(env, other_name, time=FakeTime()) as (_, recorder):
            (frame,) = await recorder.answer(recorder.ask())
        assert "IP address mismatch" in frame["detail"]


async def test_a_descriptor_that_points_a_key_elsewhere_opens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "__init__", lambda *_: pytest.fail("a client was made"))
    entry = model(1, base_url="https://evil.example/v1")
    with pytest.raises(SpecError, match=r"evil\.example is no host that this machine allows") as caught:
        async with run(host_env(tmp_path), entry):
            pytest.fail("the way out was opened")
    assert KEY not in str(caught.value)


async def test_a_replay_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "__init__", lambda *_: pytest.fail("a client was made"))
    async with serving(always(http(200))) as server:
        opening = open_egress(
            [model(server.port)], None, host_env(tmp_path), max_model_calls=1, forbidden="a replay makes none"
        )
        with pytest.raises(EgressForbidden, match="a replay makes none"):
            async with opening:
                pytest.fail("the way out was opened")
    assert server.connections == 0


async def test_the_switch_of_the_process_stops_a_way_out_that_is_open_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(always(http(200))) as server, run(host_env(tmp_path), model(server.port)) as (_, recorder):
        monkeypatch.setattr(permission, "FORBIDDEN", "not here")
        with pytest.raises(EgressForbidden, match="not here"):
            recorder.ask()
    assert server.connections == 0


async def test_a_run_without_upstreams_makes_no_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "__init__", lambda *_: pytest.fail("a client was made"))
    fixture = decisions(1, upstream="fixture", base_url=None)
    async with run(host_env(tmp_path), of_decisions=fixture) as (egress, recorder):
        (frame,) = await recorder.answer(recorder.ask(upstream="decisions"))
        assert egress.facts() == {}
    assert (frame["kind"], recorder.trial.failures) == ("refused", [])


def test_a_run_without_upstreams_does_not_pay_for_the_client() -> None:
    code = "import sys, arci.run.egress.egress; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
