"""Every package's session, whole and streamed, again from its bundle: provider stopped, no key, and `arci replay` in a
network namespace without any route, where the engine is reached over its Unix socket alone."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import anyio
import pytest
from e2e import Finished
from models.gate import gate
from models.sessions import AT_ONCE, Sessions, bundle_by_reference, recorded_sessions
from models.table import CLIENTS, MODES, Client

from arci.bundle.trust import Key, key_path, own_key
from arci.isolation.docker.engine import Engine
from arci.store.reader import read_events

pytestmark = pytest.mark.timeout(1800)  # the first run on an engine builds the images

CUT_OFF = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--net")
DIAL = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"
Replays = dict[tuple[str, str], Finished]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Sessions:
    return recorded_sessions(tmp_path_factory)


@pytest.fixture(scope="module")
def replays(sessions: Sessions, engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Replays:
    """(id of the package, arm) -> how the replay of its one trial ended."""
    assert not sessions.provider.is_up()
    data = tmp_path_factory.mktemp("data")
    bundles = anyio.run(bundled, engine, sessions, data)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ended = list(pool.map(partial(replayed, cut_off(engine), data), bundles.values()))
    return dict(zip(bundles, ended, strict=True))


async def bundled(engine: Engine, sessions: Sessions, data: Path) -> dict[tuple[str, str], Path]:
    key = own_key(key_path({"XDG_DATA_HOME": str(data)}, data))
    assert isinstance(key, Key)
    return {
        (name, arm): await bundle_by_reference(engine, run, f"clean:00000:{arm}", data / f"{name}-{arm}.arci", key)
        for name, run in sessions.runs.items()
        for arm in MODES
    }


def cut_off(engine: Engine) -> tuple[str, ...]:
    """An engine elsewhere is reached over the network: with it, only the provider and its key are gone."""
    return CUT_OFF if engine.endpoint.startswith("unix:") else ()


def replayed(way: tuple[str, ...], data: Path, bundle: Path) -> Finished:
    """`arci replay`, cut off; `data` has the key of whoever made the bundle."""
    command = [*way, sys.executable, "-m", "arci", "replay", str(bundle), "--json"]
    env = {**os.environ, "XDG_DATA_HOME": str(data)}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=900)
    return Finished(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.parametrize("arm", MODES, ids=MODES.get)
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_a_session_is_reproduced_from_its_record_alone(client: Client, arm: str, replays: Replays) -> None:
    told = replays[client.id, arm]
    assert told.exit_code == 0, told
    assert (told.json["verdict"], told.json["same_trace"]) == ("REPRODUCED", True), told
    assert told.json["replayed"]["outcome"] == "PASS"


def test_each_session_that_is_replayed_called_its_model(sessions: Sessions) -> None:
    for client in CLIENTS:
        for arm, mode in MODES.items():
            events = read_events(sessions.runs[client.id], f"clean:00000:{arm}")
            started = [event for event in events if event["kind"] == "model_start"]
            assert len(started) >= len(client.steps)
            assert any(event["stream"] for event in started) == (mode == "stream")


def test_whoever_is_cut_off_reaches_nothing_not_even_this_machine() -> None:
    with gate(is_open=True) as server:
        dial = [sys.executable, "-c", DIAL, str(server.server_port)]
        assert subprocess.run(dial, check=False).returncode == 0
        cut = subprocess.run([*CUT_OFF, *dial], capture_output=True, text=True, check=False)
    assert cut.returncode != 0
    assert "Network is unreachable" in cut.stderr
