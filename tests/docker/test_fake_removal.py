"""Whatever a run made is removed, or told by name, on an engine that fails in the middle of things."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fake_container import FakeContainer
from pods import KEEP, LIMIT_S, Fake, on_fake, trial, until, within

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec
from arci.isolation.docker import containers as containers_module
from arci.isolation.docker import engine as engine_module
from arci.isolation.docker import guest as guest_module
from arci.isolation.docker import removal as removal_module
from arci.model.trial import Role

AGENT = ProcessSpec(("agent",))


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setattr(removal_module, "_PAUSE_S", 0.01)
    with on_fake(tmp_path) as made:
        yield made
        assert not made.server.answers, f"never asked for: {made.server.answers}"


def removals(fake: Fake, key: str) -> int:
    return sum(key in request for request in fake.server.requests if request.startswith("DELETE"))


def test_a_container_that_will_not_go_is_given_up_and_named_while_the_run_goes_on(fake: Fake) -> None:
    """N5: three tries, then the leak is kept by id; leaving the run is an error with the command that helps."""
    stuck = f"{4:064x}"  # after the preflight's container and two holders
    fake.server.answers = [(f"DELETE /containers/{stuck}", 500, "no exit event")] * 3

    async def main() -> None:
        async with fake.run() as slots:
            for number in range(2):
                async with slots.pod(trial(number=number)) as pod:
                    await pod.start(Role.BOUNDARY, KEEP)
            await until(lambda: removals(fake, stuck) == 3)

    with pytest.raises(EngineError) as caught:
        within(main)
    assert stuck[:12] in str(caught.value)
    assert "no exit event" in str(caught.value)
    assert f"docker rm -f -v {stuck[:12]}" in (caught.value.hint or "")
    assert removals(fake, stuck) == 3
    assert list(fake.server.containers) == [stuck]


def test_a_volume_that_will_not_go_is_named_with_the_command_for_volumes(fake: Fake) -> None:
    fake.server.answers = [("DELETE /volumes/arci-work", 500, "disk trouble")] * 3

    async def main() -> None:
        async with fake.pod():
            pass

    with pytest.raises(EngineError, match="disk trouble") as caught:
        within(main)
    (left,) = fake.server.volumes
    assert f"docker volume rm -f {left}" in (caught.value.hint or "")
    assert "docker rm " not in (caught.value.hint or "")


def test_a_removal_that_works_the_second_time_is_no_leak(fake: Fake) -> None:
    fake.server.answers = [("DELETE /containers/", 500, "busy"), ("DELETE /volumes/arci-work", 409, "in use")]

    async def main() -> None:
        async with fake.pod() as pod:
            await pod.start(Role.BOUNDARY, KEEP)

    within(main)
    assert (fake.server.containers, fake.server.volumes) == ({}, {})


@pytest.mark.parametrize(("verb", "status"), [("start", 400), ("start", 500), ("attach", 500), ("start", 404)])
def test_a_container_that_cannot_be_started_is_removed_at_once(fake: Fake, verb: str, status: int) -> None:
    """The engine's words come out; the container does not hold its volumes until the run ends."""
    fake.server.answers = [(f"POST /containers/0*4/{verb}", status, "OCI runtime create failed: no such file")]

    async def main() -> None:
        async with fake.run() as slots:
            async with slots.pod(trial()) as pod:
                with pytest.raises(EngineError, match="OCI runtime create failed") as caught:
                    await pod.start(Role.AGENT, AGENT)
                assert caught.value.status == status
                assert fake.server.of_role("agent") == []
            await until(lambda: not any(name.startswith("arci-work") for name in list(fake.server.volumes)))

    within(main)
    assert fake.server.containers == {}


@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_a_refused_create_is_told_with_status_and_words(fake: Fake, status: int) -> None:
    async def main() -> None:
        async with fake.pod() as pod:
            fake.server.answers = [("POST /containers/create", status, "the engine's words")]
            with pytest.raises(EngineError, match="create a container: the engine's words") as caught:
                await pod.start(Role.AGENT, AGENT)
            assert caught.value.status == status
            await pod.start(Role.AGENT, AGENT)  # the pod is as it was

    within(main)
    assert fake.server.containers == {}


def test_a_container_whose_create_was_never_answered_is_found_by_its_name(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with fake.pod() as pod:
            monkeypatch.setattr(containers_module, "CALL_S", 0.2)
            fake.server.loses = {"POST /containers/create"}
            with pytest.raises(EngineError, match="did not answer within"):
                await pod.start(Role.AGENT, AGENT)
            monkeypatch.undo()
            for name in ("_STILL_SILENT_S", "_MUTE_S"):  # after a call that was given up: it is no slower engine
                monkeypatch.setattr(engine_module, name, LIMIT_S)
            # Only once it is made can it be found: what was given up is obeyed in its own time.
            await until(lambda: len(fake.server.of_role("agent")) == 1)

    within(main)
    assert (fake.server.containers, fake.server.volumes) == ({}, {})


def test_a_cancelled_run_removes_everything(fake: Fake) -> None:
    """N2: what is being removed in the background at that moment, too."""

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with fake.run() as slots:
                async with slots.pod(trial(number=0)) as pod:
                    await pod.start(Role.BOUNDARY, KEEP)
                async with slots.pod(trial(number=1)) as pod:
                    await pod.start(Role.BOUNDARY, KEEP)
                    await pod.start(Role.AGENT, AGENT)
                    scope.cancel()
                    await anyio.sleep_forever()
        assert scope.cancelled_caught

    within(main)
    assert (fake.server.containers, fake.server.volumes) == ({}, {})


@pytest.mark.parametrize("request_line", ["POST attach", "POST start"])
def test_cancelling_while_a_container_is_being_made_leaves_nothing(fake: Fake, request_line: str) -> None:
    under_way, go_on = threading.Event(), threading.Event()

    def before(request: str, container: FakeContainer) -> None:
        if request == request_line and container.role == "agent":
            under_way.set()
            go_on.wait(LIMIT_S)

    fake.server.before = before

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with fake.pod() as pod, anyio.create_task_group() as tasks:
                tasks.start_soon(pod.start, Role.AGENT, AGENT)
                await until(under_way.is_set)
                scope.cancel()
                go_on.set()

    within(main)
    assert (fake.server.containers, fake.server.volumes) == ({}, {})


def test_cancelling_while_the_engine_creates_leaves_nothing(fake: Fake) -> None:
    """The container is made although nobody wants it any more; its id must not be lost with the one who asked."""
    original = fake.server._create
    under_way, made = threading.Event(), threading.Event()

    def slow(*args: Any) -> str:
        if args[2]["Labels"]["dev.arci.role"] != "agent":
            return original(*args)
        under_way.set()
        made.wait(0.3)  # an engine that takes its time: long enough for whoever would not wait for it
        try:
            return original(*args)
        finally:
            made.set()

    async def main() -> None:
        with anyio.CancelScope() as scope:
            async with fake.pod() as pod, anyio.create_task_group() as tasks:
                fake.server._create = slow  # type: ignore[assignment,method-assign]  # in place of one engine's method
                tasks.start_soon(pod.start, Role.AGENT, AGENT)
                await until(under_way.is_set)
                scope.cancel()

    within(main)
    assert made.wait(LIMIT_S)
    assert (fake.server.containers, fake.server.volumes) == ({}, {})


def test_an_engine_that_never_closes_a_stream_does_not_keep_us_in_the_run(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N26: not even those of holders, which nobody waits for."""
    for name in ("_RECONCILE_S", "_DRAIN_S"):
        monkeypatch.setattr(guest_module, name, 0.02)
    fake.server.closes_streams = False

    async def main() -> None:
        async with fake.run() as slots, slots.pod(trial()):
            pass

    within(main)
    assert fake.server.containers == {}
