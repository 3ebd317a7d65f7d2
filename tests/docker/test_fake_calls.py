"""Engine calls that hang, dribble, come late or break, and engines that are found in unusual ways."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest
from fake_container import FakeContainer
from fake_engine import fake_engine
from pods import LIMIT_S, Fake, ended, trial, until, within

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.isolation.docker import containers as containers_module
from arci.isolation.docker import engine as engine_module
from arci.isolation.docker import guest as guest_module
from arci.isolation.docker import removal as removal_module
from arci.isolation.docker.client import Client
from arci.isolation.docker.engine import connect
from arci.isolation.docker.trouble import FOREIGN, engine_error
from arci.model.trial import Role

AGENT = ProcessSpec(("agent",))


@pytest.mark.parametrize("way", ["hangs", "dribbles"])
def test_a_call_without_an_end_meets_our_own_deadline(fake: Fake, way: str) -> None:
    """N19: bytes that keep the socket alive are no answer."""
    getattr(fake.server, way).add("GET /info")

    async def main() -> None:
        await fake.engine.call("ask the engine about itself", fake.engine.api.info, timeout_s=0.2)

    with pytest.raises(EngineError, match=r"ask the engine about itself: the engine did not answer within 0\.2 s"):
        within(main)


@pytest.mark.parametrize("way", ["hangs", "stalls"])
def test_the_clients_two_kinds_of_timeout_are_one_kind_of_error(fake: Fake, way: str) -> None:
    """N19: a wait without an answer and one that stops in the middle raise different types."""
    getattr(fake.server, way).add("GET /info")
    client = Client(base_url=fake.engine.endpoint, version="1.41", timeout=1)
    client.timeout = 0.1  # type: ignore[assignment]  # the stubs know whole seconds only
    try:
        with pytest.raises(FOREIGN) as caught:
            client.info()
    finally:
        client.close()
    error = engine_error("ask", caught.value)
    assert str(error) == "ask: the engine did not answer in time."


def test_a_start_that_the_engine_delays_is_over_when_the_process_runs(fake: Fake) -> None:
    """N9: what an engine takes to start things is not the agent's time: its clock begins when `start` returns."""
    asked, go_on, runs = threading.Event(), threading.Event(), threading.Event()

    def before(request: str, container: FakeContainer) -> None:
        if request == "POST start" and container.role == "agent":
            asked.set()
            go_on.wait(LIMIT_S)
            runs.set()

    fake.server.before = before
    ran_when_started: list[bool] = []

    async def main() -> None:
        async with fake.pod() as pod:

            async def start() -> None:
                await pod.start(Role.AGENT, AGENT)
                ran_when_started.append(runs.is_set())

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(start)
                await until(asked.is_set)
                assert not ran_when_started
                go_on.set()

    within(main)
    assert ran_when_started == [True]


def test_an_engine_that_dies_in_mid_run_is_an_error_of_every_pending_guest(fake: Fake) -> None:
    """N36: neither a hang nor a result; who leaves the run is told what removes the rest."""
    troubles: list[str] = []

    async def trouble(guest: guest_module.DockerGuest) -> None:
        with pytest.raises(EngineError) as caught:
            await guest.wait(LIMIT_S)
        troubles.append(str(caught.value))
        with pytest.raises(EngineError):
            await guest.stop(0)

    async def main() -> None:
        async with fake.run() as slots, slots.pod(trial()) as one, slots.pod(trial("candidate")) as other:
            guests = [await one.start(Role.AGENT, AGENT), await other.start(Role.AGENT, AGENT)]
            async with anyio.create_task_group() as tasks:
                for guest in guests:
                    tasks.start_soon(trouble, guest)
                fake.server.die()

    with pytest.raises(EngineError, match="the connection to the engine broke") as caught:
        within(main)
    assert "arci clean" in (caught.value.hint or "")
    assert len(troubles) == 2
    assert all("connection to the engine broke" in text for text in troubles), troubles


def test_an_engine_that_stops_answering_does_not_keep_us(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """N19, N36: every step of leaving a run is bounded."""

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, AGENT)
            for module, name in (  # not before: what is answered may take its time
                (containers_module, "CALL_S"),
                (containers_module, "_CLEAN_UP_S"),
                (guest_module, "_CALL_S"),
                (removal_module, "_BOUND_S"),
            ):
                monkeypatch.setattr(module, name, 0.2)
            fake.server.hangs.add("^(GET|POST|DELETE) ")
            assert await agent.wait(0.05) is None
            with pytest.raises(EngineError, match="did not answer within"):
                await agent.stop(0)

    with pytest.raises(EngineError, match="did not answer within") as caught:
        within(main)
    assert "arci clean" in (caught.value.hint or "")


def test_a_guests_end_is_found_although_the_engines_books_lag_behind(fake: Fake) -> None:
    """The stream is at its end, the state still says running for a while."""
    asked = 0

    def before(request: str, container: FakeContainer) -> None:
        nonlocal asked
        if request == "GET json" and container.role == "agent":
            asked += 1
            if asked == 3:
                container.state.update(Status="exited", Running=False, ExitCode=7)

    fake.server.before = before
    fake.server.behave = lambda container: container.cut()

    async def main() -> None:
        async with fake.pod() as pod:
            assert (await ended(await pod.start(Role.AGENT, AGENT))).exit.code == 7

    within(main)


def test_an_engine_that_answers_no_versioned_ping_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """N31: and only the un-versioned one is ever sent."""
    monkeypatch.setattr(engine_module, "FORBIDDEN", None)
    with fake_engine(tmp_path) as server:
        server.only_unversioned_ping = True
        monkeypatch.setenv("DOCKER_HOST", f"unix://{server.path}")
        engine = within(connect)
        try:
            assert engine.api.info()["Name"] == "fake"
            assert engine.why == "DOCKER_HOST is set"
        finally:
            engine.close()
        assert "GET /_ping" in server.requests


@pytest.mark.parametrize("host_is_set", [False, True])
def test_the_engine_of_the_active_context_is_used_unless_docker_host_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host_is_set: bool
) -> None:
    """N32: the same engine as `docker` talks to, and the reason is told."""
    monkeypatch.setattr(engine_module, "FORBIDDEN", None)
    for name in [name for name in os.environ if name.startswith("DOCKER_")]:
        monkeypatch.delenv(name)
    directories = [tmp_path / "of-context", tmp_path / "of-host"]
    for directory in directories:
        directory.mkdir()
    with fake_engine(directories[0]) as of_context, fake_engine(directories[1]) as of_host:
        meta = tmp_path / "contexts" / "meta" / hashlib.sha256(b"far").hexdigest() / "meta.json"
        meta.parent.mkdir(parents=True)
        meta.write_text(json.dumps({"Endpoints": {"docker": {"Host": f"unix://{of_context.path}"}}}))
        (tmp_path / "config.json").write_text('{"currentContext": "far"}')
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        if host_is_set:
            monkeypatch.setenv("DOCKER_HOST", f"unix://{of_host.path}")
        engine = within(connect)
        engine.close()
        asked, other = (of_host, of_context) if host_is_set else (of_context, of_host)
        assert "GET /_ping" in asked.requests
        assert other.requests == []
        assert engine.endpoint == f"unix://{asked.path}"
        assert ("DOCKER_HOST" if host_is_set else "context 'far'") in engine.why


GIVEN_UP = """
import anyio
from arci.errors import EngineError
from arci.isolation.docker.engine import connect
async def main():
    engine = await connect()
    try:
        await engine.call("ask", engine.api.info, timeout_s=0.1)
    except EngineError as error:
        print(error)
anyio.run(main)
"""


def test_a_call_that_was_given_up_does_not_keep_the_program_from_ending(fake: Fake) -> None:
    """N19: its thread may hang in the engine's socket for as long as it likes."""
    fake.server.hangs.add("GET /info")
    done = subprocess.run(
        [sys.executable, "-c", GIVEN_UP],
        env={**os.environ, "DOCKER_HOST": fake.engine.endpoint},
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert b"did not answer within 0.1 s" in done.stdout
