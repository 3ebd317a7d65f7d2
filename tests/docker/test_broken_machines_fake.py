"""Engines that a real one cannot be made to be: of another time, of another make, with a clock that goes back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from e2e import EXAMPLES, arci, records
from fake_container import CLOCK_S, FakeContainer
from fake_engine import FakeEngine
from pods import Fake, plan, trial, within

from arci.errors import EngineError, EngineUnavailable
from arci.isolation.base import ProcessSpec
from arci.isolation.docker import engine as engine_module
from arci.isolation.docker.dialect import podman_volume
from arci.isolation.docker.engine import NEWEST_VERSION, Engine, connect
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.labels import HOLDER
from arci.isolation.docker.sweep import find_leftovers
from arci.model.trial import Role


def connected() -> Engine:
    engine = within(connect)
    engine.close()
    return engine


@pytest.mark.parametrize(
    ("headers", "version"),
    [
        ("API-Version: 1.30\r\n", "1.30"),
        ("API-Version: 1.41\r\n", "1.41"),
        ("API-Version: 1.99\r\n", NEWEST_VERSION),
        ("API-Version: 2.3\r\n", NEWEST_VERSION),
    ],
)
def test_the_older_of_two_versions_is_spoken(server: FakeEngine, headers: str, version: str) -> None:
    server.ping_headers = headers
    assert connected().api.api_version == version


def test_an_engine_that_tells_no_version_is_spoken_to_in_the_oldest(server: FakeEngine) -> None:
    server.ping_headers = ""
    assert connected().api.api_version == engine_module._OLDEST_VERSION


def test_an_engine_of_long_ago_is_refused_with_its_version_and_a_remedy(server: FakeEngine) -> None:
    server.ping_headers = "API-Version: 1.12\r\n"
    with pytest.raises(EngineUnavailable, match=r"API version 1\.12") as caught:
        connected()
    assert "update the engine" in (caught.value.hint or "")


def test_an_engine_that_no_longer_speaks_our_version_is_an_error_with_a_remedy(fake: Fake) -> None:
    said = "client version 1.41 is too old. Minimum supported API version is 1.60"
    fake.server.answers = [("GET /info", 400, said)]

    async def main() -> None:
        await fake.engine.call("ask the engine about itself", fake.engine.api.info, timeout_s=5)

    with pytest.raises(EngineError, match="too old") as caught:
        within(main)
    assert caught.value.hint == "update the engine, or the Python package `docker`"


@pytest.mark.parametrize("is_podman", [False, True])
def test_podman_is_known_by_its_ping(server: FakeEngine, is_podman: bool) -> None:
    server.ping_headers += "Libpod-API-Version: 4.3.1\r\n" if is_podman else ""
    assert connected().is_podman is is_podman


def test_podman_is_asked_in_its_own_words(fake: Fake) -> None:
    """Its volumes are limited by pages, its holders keep a volume root's, and it is told every ulimit."""
    fake.engine.is_podman = True

    async def main() -> None:
        async with fake.run() as slots, slots.pod(trial()):
            relay, holds = fake.server.of_role(HOLDER)
            if not relay.config["HostConfig"]["Mounts"]:
                relay, holds = holds, relay
            assert (relay.config["User"], holds.config["User"]) == ("0:0", "65533:65533")
            for holder in (relay, holds):
                host = holder.config["HostConfig"]
                assert [limit["Name"] for limit in host["Ulimits"]] == ["nofile", "nproc"]
                assert not any("nr_inodes" in options for options in host["Tmpfs"].values())
                assert all("size=" in options for options in host["Tmpfs"].values())

    within(main)


def test_podman_is_told_a_volumes_size_in_pages() -> None:
    arguments = {"name": "v", "driver_opts": {"type": "tmpfs", "o": "size=1048576,nr_inodes=1024,mode=0755"}}
    assert podman_volume(arguments)["driver_opts"] == {"type": "tmpfs", "o": "nr_blocks=256,nr_inodes=1024,mode=0755"}
    assert arguments["driver_opts"]["o"].startswith("size=")  # type: ignore[index]


def test_a_container_that_podman_says_has_ended_needs_no_signal(fake: Fake) -> None:
    said = "can only kill running containers. 1a2b is in state stopped: container state improper"

    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, ProcessSpec(("agent",)))
            fake.server.containers[agent.container_id].end(7)
            fake.server.answers = [(f"POST /containers/{agent.container_id}/kill", 500, said)]
            end = await agent.stop(0)
            assert (end.code, end.killed_by_us) == (7, False)

    within(main)
    assert not fake.server.answers


def test_another_500_to_a_signal_stays_an_error(fake: Fake) -> None:
    async def main() -> None:
        async with fake.pod() as pod:
            agent = await pod.start(Role.AGENT, ProcessSpec(("agent",)))
            fake.server.answers = [(f"POST /containers/{agent.container_id}/kill", 500, "cannot kill")]
            with pytest.raises(EngineError, match="cannot kill"):
                await agent.stop(0)

    within(main)


@pytest.mark.parametrize("back_s", [60, 86_400])
def test_a_clock_that_goes_back_makes_no_run_older(fake: Fake, back_s: int) -> None:
    """What is to be made in the future is young: it is left alone until the engine's clock has passed it."""
    run = plan()
    made = FakeContainer("c" * 64, "new", {"Labels": {"dev.arci.run": run.run_id, "dev.arci.role": HOLDER}})
    made.state.update(Created=CLOCK_S + back_s)
    fake.server.containers[made.id] = made

    async def main() -> None:
        found = await find_leftovers(fake.engine)
        assert found.run_ids == ()
        await DockerIsolation(fake.engine).check(run)
        assert made.id in fake.server.containers

    within(main)
    del fake.server.containers[made.id]


BACKWARDS = """
import sys, time
from datetime import datetime
import arci.store.writer
real, asked = time.time, [0]
def back():
    asked[0] += 1
    return real() - 3600 * asked[0]
time.time = back
class Clock(datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.fromtimestamp(back(), tz)
arci.store.writer.datetime = Clock
from arci.cli import main
main(sys.argv[1:])
"""
"""`arci` on a machine whose clock goes back by an hour whenever it is asked."""


def test_a_host_whose_clock_goes_back_records_and_reads_as_any_other(tmp_path: Path) -> None:
    example = EXAMPLES / "retry_agent" / "a-vs-b.yaml"
    options = [str(example), "--n", "2", "--isolation", "process", "--json", "--out"]
    argv = [sys.executable, "-c", BACKWARDS, "run", *options, str(tmp_path / "back")]
    back = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=110)
    assert back.stdout, back.stderr
    run = Path(json.loads(back.stdout)["run"])
    there = arci("run", *options, tmp_path / "there")
    keys = ("outcome", "ending", "trace_sha256")
    mine, theirs = (
        {trial: [record[key] for key in keys] for trial, record in records(path).items()} for path in (run, there.run)
    )
    assert mine == theirs
    assert arci("gate", run, "--json").exit_code == back.returncode == there.exit_code
