"""Commands that misuse their tools, on a real engine: the oracle has the word, nothing is an ERROR, nothing hangs."""

from __future__ import annotations

import pytest
from commands import WAYS, executed, experiment
from e2e import Finished, arci, info, records
from ways import Way, check, ways_on

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("commands")
    return arci("run", experiment(directory, "docker"), "--out", directory / "runs", "--json")


@pytest.mark.parametrize("way", ways_on(WAYS, "docker"), ids=lambda way: way.name)
def test_a_command_ends_as_it_should_beside_an_honest_one(way: Way, ended: Finished) -> None:
    check(way, records(ended.run))


@pytest.mark.parametrize("name", ["leaves-a-daemon-that-calls", "opens-500-connections", "never-reads"])
def test_every_call_that_was_executed_is_recorded_and_no_other(name: str, ended: Finished) -> None:
    calls, state = executed(ended.run, name)
    assert calls == state


def test_nothing_of_the_run_is_left(ended: Finished, engine: Engine) -> None:
    mine = {"label": [f"{RUN}={info(ended.run)['run_id']}"]}
    assert engine.api.containers(all=True, filters=mine) == []
    assert not engine.api.volumes(filters=mine)["Volumes"]
