"""An engine that takes connections and answers nothing: found out in bounded time, told with cause and remedy."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import anyio
import pytest
from e2e import EXAMPLES, call
from fake_container import CLOCK_S, FakeContainer
from fake_engine import FakeEngine
from pods import LIMIT_S, Fake, trial, until, within

from arci.errors import EngineError, EngineUnavailable
from arci.isolation.base import ProcessSpec
from arci.isolation.docker import engine as engine_module
from arci.isolation.docker import sweep as sweep_module
from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.labels import Leftovers
from arci.isolation.docker.sweep import find_leftovers, sweep
from arci.model.trial import Role

AGENT = ProcessSpec(("agent",))
ANYTHING = "."
ALL_BUT_PINGS = "^(?!GET /_ping)"
PING = "GET /_ping"
SOON_S = {"_PING_S": 0.3, "_PATIENCE_S": 0.05, "_SILENCE_S": 0.2, "_STILL_SILENT_S": 0.1}
"""What takes ten seconds in real life takes a tenth of one."""
ANSWERED = ("_PING_S", "_SILENCE_S", "_STILL_SILENT_S")
"""How long an answer to a ping is waited for."""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SOON_S.items():
        monkeypatch.setattr(engine_module, name, value)


def patient(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """For an engine that is to be found alive, however late it answers. By default nothing is soon."""
    for name in names or SOON_S:
        monkeypatch.setattr(engine_module, name, LIMIT_S)


async def ask(fake: Fake, *, timeout_s: float = LIMIT_S) -> object:
    return await fake.engine.call("ask the engine", fake.engine.api.info, timeout_s=timeout_s)


@pytest.mark.parametrize("timeout_s", [LIMIT_S, 3600.0])
def test_a_call_is_given_up_once_the_engine_answers_no_ping(fake: Fake, timeout_s: float) -> None:
    """Long before its own deadline, be it a build's."""
    fake.server.hangs = {ANYTHING}
    with pytest.raises(EngineError, match=r"ask the engine: the engine is mute: .* a ping within 0\.2 s") as caught:
        within(lambda: ask(fake, timeout_s=timeout_s))
    assert "restart the engine" in (caught.value.hint or "")


def test_a_call_that_takes_long_is_waited_for_while_pings_are_answered(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient(monkeypatch, *ANSWERED)
    pinged = threading.Event()

    def before(request: str, container: FakeContainer) -> None:
        if request == "POST start" and container.role == "agent":
            pinged.wait(LIMIT_S)

    async def watch() -> None:
        while fake.server.requests.count(PING) < 3:  # noqa: ASYNC110  (what we look at tells nobody)
            await anyio.sleep(0.01)
        pinged.set()

    fake.server.before = before

    async def main() -> None:
        async with fake.pod() as pod, anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await pod.start(Role.AGENT, AGENT)

    within(main)
    assert pinged.is_set()


def test_a_ping_that_breaks_is_no_silence(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    patient(monkeypatch, *ANSWERED)
    fake.server.hangs = {"GET /info"}
    fake.server.answers = [(PING, 500, "no ping today")] * 1000

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, fake)
            await until(lambda: fake.server.requests.count(PING) >= 3)  # the call has outlived two
            tasks.cancel_scope.cancel()
        assert not fake.engine.is_mute
        with pytest.raises(EngineError, match=r"did not answer within 0\.4 s"):
            await ask(fake, timeout_s=0.4)

    within(main)


def test_a_mute_engine_is_pinged_before_it_is_asked_for_more_until_it_answers(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.server.hangs = {ANYTHING}

    async def main() -> None:
        with pytest.raises(EngineError, match="mute"):
            await ask(fake)
        await until(lambda: fake.server.requests.count("GET /info") == 1)  # a given-up call may come late
        with pytest.raises(EngineError, match=r"a ping within 0\.1 s"):
            await ask(fake)
        assert fake.server.requests.count("GET /info") == 1
        fake.server.hangs = set()
        patient(monkeypatch, *ANSWERED, "_MUTE_S")
        await ask(fake)
        assert not fake.engine.is_mute

    within(main)


def test_an_engine_that_answers_pings_alone_has_less_time_for_each_further_call(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose books are locked: else a minute passes for each of the many things that a run asks for."""
    patient(monkeypatch, *ANSWERED)
    monkeypatch.setattr(engine_module, "_MUTE_S", 0.15)
    fake.server.hangs = {ALL_BUT_PINGS}

    async def main() -> None:
        with pytest.raises(EngineError, match=r"within 0\.2 s"):
            await ask(fake, timeout_s=0.2)
        with pytest.raises(EngineError, match=r"within 0\.15 s") as caught:
            await ask(fake)
        assert "docker ps" in (caught.value.hint or "")

    within(main)


def test_a_call_that_is_late_while_others_are_answered_makes_no_engine_mute(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient(monkeypatch, *ANSWERED, "_MUTE_S")
    fake.server.hangs = {"GET /info"}

    async def main() -> None:
        async with anyio.create_task_group() as tasks:

            async def late() -> None:
                with pytest.raises(EngineError, match=r"within 0\.3 s"):
                    await ask(fake, timeout_s=0.3)

            tasks.start_soon(late)
            await anyio.sleep(0.05)
            await fake.engine.call("ask the version", fake.engine.api.version, timeout_s=LIMIT_S)
        assert not fake.engine.is_mute

    within(main)


def test_a_run_whose_engine_falls_mute_is_left_with_what_removes_the_rest(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thing that is to be removed is asked for once, not three times."""
    patient(monkeypatch)

    async def main() -> None:
        async with fake.run() as slots, slots.pod(trial()) as pod:
            await pod.start(Role.AGENT, AGENT)
            for name, value in SOON_S.items():
                monkeypatch.setattr(engine_module, name, value)
            fake.server.hangs = {ANYTHING}
            del fake.server.requests[:]

    with pytest.raises(EngineError, match="mute") as caught:
        within(main)
    assert "arci clean" in (caught.value.hint or "")
    things = len(fake.server.containers) + len(fake.server.volumes)
    assert sum(request.startswith("DELETE") for request in fake.server.requests) <= things


def test_a_sweep_of_many_things_ends_with_the_first_one_that_a_mute_engine_does_not_remove(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient(monkeypatch)
    for number in range(20):
        made = FakeContainer(f"{number:064x}", f"old{number}", {"Labels": {"dev.arci.run": "dead"}})
        made.state.update(Status="exited", Created=CLOCK_S - 3600)
        fake.server.containers[made.id] = made
    fake.server.hangs = {"^DELETE", PING}

    async def found(engine: Engine) -> Leftovers:
        """Its lists are answered, and waited for; from then on nothing is."""
        leftovers = await find_leftovers(engine)
        for name, value in SOON_S.items():
            monkeypatch.setattr(engine_module, name, value)
        return leftovers

    def removals() -> int:
        return sum(request.startswith("DELETE") for request in list(fake.server.requests))

    async def main() -> None:
        with pytest.raises(EngineError, match="mute"):
            await sweep(fake.engine)
        await until(lambda: removals() > 0)  # a given-up call may come late

    monkeypatch.setattr(sweep_module, "find_leftovers", found)
    within(main)
    assert removals() == 1


COMMANDS: dict[str, tuple[object, ...]] = {
    "run": ("run", EXAMPLES / "retry_agent" / "a-vs-b.yaml", "--isolation", "docker", "--n", 2, "--out", "OUT"),
    "clean": ("clean",),
    "images build": ("images", "build"),
    "images list": ("images", "list"),
    "images prune": ("images", "prune"),
}


@pytest.mark.parametrize("answers_only", range(2))
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_ends_with_cause_and_remedy(
    name: str,
    answers_only: int,
    server: FakeEngine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Mute from the first request on: no engine, 69. Mute later: an error, 3."""
    server.answers_only = answers_only
    if answers_only:
        patient(monkeypatch, "_PING_S")
    words = [tmp_path / "runs" if word == "OUT" else word for word in COMMANDS[name]]
    ended = call(capsys, *words)
    assert (ended.exit_code, ended.stdout) == (3 if answers_only else 69, ""), ended.stderr
    assert "the engine is mute" in ended.stderr
    assert "restart the engine" in ended.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("answers_only", range(3))
def test_the_doctor_says_so(
    answers_only: int, server: FakeEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers_only = answers_only
    if answers_only:
        patient(monkeypatch, "_PING_S")
    ended = call(capsys, "doctor", "--json")
    assert ended.exit_code == (3 if answers_only else 69)
    found = [line for line in json.loads(ended.stdout)["findings"] if "the engine is mute" in line["detail"]]
    assert [line["health"] for line in found] == ["problem"]
    assert "restart the engine" in found[0]["remedy"]


def test_an_engine_that_is_chosen_and_mute_is_named(server: FakeEngine) -> None:
    server.answers_only = 0
    with pytest.raises(EngineUnavailable, match="DOCKER_HOST is set") as caught:
        within(connect)
    assert server.path in str(caught.value)
