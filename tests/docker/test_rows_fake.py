"""What is never asked of an engine, whatever happens: rows of failures of other tools, on the scripted engine."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
from fake_container import FakeContainer
from fake_engine import FakeEngine
from pods import KEEP, LIMIT_S, Fake, trial, within

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.isolation.docker import containers as containers_module
from arci.isolation.docker import engine as engine_module
from arci.model.trial import Role

AGENT = ProcessSpec(("agent",))
SECRET = "mark-5d0c71"  # of these tests alone
ASKED = re.compile(
    r"GET /(_ping|version|info|volumes|volumes/[\w-]+|images/.+/json|containers/json|containers/\w+/json)"
    r"|POST /(volumes/create|containers/create|containers/\w+/(attach|start|kill))"
    r"|DELETE /(containers|volumes)/[\w-]+"
)
"""All that a run of trials without servers and evidence asks: no exec, no archive put, no network, no signal by pid."""


def test_nothing_is_executed_in_or_put_into_a_container_and_no_network_is_made(fake: Fake) -> None:
    """N7, N14, N45: files come over a guest's own stdin, before its first instruction; it cannot swap what is not there
    yet, and no program of its image's is run by us."""
    given = ProcessSpec(("agent",), files={"/work/mcp.json": b"{}"}, directories=("/work/d",), status_token="t")

    async def main() -> None:
        async with fake.run() as slots:
            for number in range(2):
                async with slots.pod(trial(number=number)) as pod:
                    await pod.start(Role.BOUNDARY, KEEP)
                    agent = await pod.start(Role.AGENT, given)
                    grader = await pod.start(Role.GRADER, ProcessSpec(("grader",), stdin=b"{}"))
                    await agent.stop(0)
                    await grader.stop(0)

    within(main)
    assert [asked for asked in fake.server.requests if not ASKED.fullmatch(asked)] == []
    assert sum("attach" in asked for asked in fake.server.requests) >= 8


@pytest.mark.parametrize("grace_s", [0, 0.05])
def test_a_process_that_has_the_agents_number_in_another_namespace_lives_on(fake: Fake, grace_s: float) -> None:
    """R1: a deadline ends the container by its id; the number that the engine tells is another process's here."""
    kills: list[tuple[str, str]] = []

    def on_kill(container: FakeContainer, signal: str) -> None:
        kills.append((container.role, signal))
        if signal == "SIGKILL":
            container.end(137)

    fake.server.on_kill = on_kill
    with subprocess.Popen(["sleep", "600"]) as innocent:

        async def main() -> None:
            async with fake.pod() as pod:
                agent = await pod.start(Role.AGENT, AGENT)
                fake.server.containers[agent.container_id].state["Pid"] = innocent.pid
                assert await agent.wait(0.01) is None
                assert (await agent.stop(grace_s)).killed_by_us
                assert innocent.poll() is None

        try:
            within(main)
            assert innocent.poll() is None
        finally:
            innocent.kill()
    of_agent = [signal for role, signal in kills if role == "agent"]
    assert of_agent == (["SIGTERM", "SIGKILL"] if grace_s else ["SIGKILL"])


def test_a_start_that_was_never_answered_is_not_asked_for_again(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """N35, R4: what may be running once must not run twice; another attempt is another container."""

    for name in ("_STILL_SILENT_S", "_MUTE_S"):  # after a call that was given up: it is no slower engine
        monkeypatch.setattr(engine_module, name, LIMIT_S)

    async def main() -> None:
        async with fake.pod() as pod:
            with monkeypatch.context() as patch:

                def before(request: str, container: FakeContainer) -> None:
                    if request == "POST attach":  # the call before the start: what is answered may take its time
                        patch.setattr(containers_module, "CALL_S", 0.2)

                fake.server.before = before
                fake.server.loses = {"POST /containers/0*4/start"}
                with pytest.raises(EngineError, match=r"start a container: .* did not answer within"):
                    await pod.start(Role.AGENT, AGENT)
            assert fake.server.of_role("agent") == []
            fake.server.before = lambda request, container: None
            fake.server.loses = set()
            again = await pod.start(Role.AGENT, AGENT)
            assert again.container_id != f"{4:064x}"

    within(main)
    starts = [asked for asked in fake.server.requests if asked.endswith("/start")]
    assert len(starts) == len(set(starts)) == 5, "the probe, two holders, the agent, another agent"


def test_a_value_of_the_agents_environment_is_nowhere_but_there(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """N50: not in an argv, a label or a name, which `docker ps` and the engine's log tell."""
    configs: list[tuple[str, dict[str, Any]]] = []
    create = FakeEngine._create

    def watched(server: FakeEngine, connection: Any, name: str, config: dict[str, Any]) -> str:
        configs.append((name, config))
        return create(server, connection, name, config)

    monkeypatch.setattr(FakeEngine, "_create", watched)

    async def main() -> None:
        async with fake.pod() as pod:
            await pod.start(Role.BOUNDARY, KEEP)
            await pod.start(Role.AGENT, ProcessSpec(("agent",), env={"KEY": SECRET}))
            await pod.start(Role.GRADER, AGENT)

    within(main)
    told = [
        (config["Labels"]["dev.arci.role"], config) for name, config in configs if SECRET in json.dumps([name, config])
    ]
    assert [role for role, _ in told] == ["agent"]
    (_, config), *_ = told
    assert f"KEY={SECRET}" in config["Env"]
    assert SECRET not in json.dumps({**config, "Env": []})
    assert not any(SECRET in asked for asked in fake.server.requests)
