"""Whole runs on an engine of their own that breaks under them: it falls mute, or its disk is full. Each is a clean stop
with cause and remedy, and the resumed run is complete and true."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from e2e import EXAMPLES, arci, info, records, start_arci, until
from halting import halted
from hasty import hasty
from second_engine import SecondEngine, own_engine

from arci.isolation.docker.base_image import base_tag
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images_archive import save_images
from arci.isolation.docker.labels import RUN
from arci.isolation.docker.runtime import ensure_runtime
from arci.store.reader import read_run

pytestmark = pytest.mark.timeout(900)

EXPERIMENT = (EXAMPLES / "retry_agent" / "a-vs-b.yaml", "--n", 4, "--isolation", "docker")
PLANNED = 2 * 4
ENDS_S = 300.0
"""A guard, no measurement."""
SILENCES_S = {"_PATIENCE_S": 4.0, "_SILENCE_S": 10.0, "_STILL_SILENT_S": 2.0}
"""Half of the real ones: each is waited for, and while the engine is well none may pass by."""


@pytest.fixture(scope="module")
def own(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecondEngine]:
    """With ARCI's base image, as an engine without a registry gets it, and its disk in memory."""
    file = tmp_path_factory.mktemp("images") / "base.tar"
    anyio.run(ensure_runtime, engine)
    anyio.run(save_images, engine, [base_tag()], file)
    with own_engine(engine, room="2g") as found:
        loaded = arci("images", "load", file, env=found.env)
        assert loaded.exit_code == 0, loaded.stderr
        file.unlink()
        yield found


@contextmanager
def at_work(
    own: SecondEngine, path: Path, broken: Callable[[SecondEngine], AbstractContextManager[None]]
) -> Iterator[subprocess.Popen[str]]:
    """`arci run` whose engine is broken as soon as its first trial is recorded in the run at `path`: until it is, the
    run stands still."""
    argv = ("run", *EXPERIMENT, "--workers", 2, "--out", path.parent, "--json")
    with halted(path, *argv, env=own.env) as process, broken(own):
        process.send_signal(signal.SIGCONT)
        yield process


def stopped(process: subprocess.Popen[str], path: Path) -> str:
    """What `arci` said when it ended by itself; its store is whole, and holds nothing against an agent."""
    stdout, stderr = process.communicate(timeout=ENDS_S)
    assert (process.returncode, stdout) == (3, ""), stderr
    assert "Traceback" not in stderr
    assert info(path)["state"] == "stopped"
    assert read_run(path).problems == ()
    assert 0 < len(records(path)) < PLANNED
    return stderr


def resumed(own: SecondEngine, path: Path) -> None:
    before = records(path)
    ended = arci("run", *EXPERIMENT, "--out", path.parent, "--resume", "--json", env=own.env)
    assert ended.stdout, ended.stderr
    after = records(path)
    assert len(after) == PLANNED
    assert before.items() <= after.items()
    assert info(path)["state"] == "complete"
    assert {record["blame"] for record in before.values() if record["outcome"] == "ERROR"} <= {"engine"}
    assert "ERROR" not in {record["outcome"] for trial, record in after.items() if trial not in before}


def left(own: SecondEngine) -> list[str]:
    argv = ["docker", "--host", own.url, "ps", "--all", "--quiet", "--filter", f"label={RUN}"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


def is_clean(own: SecondEngine) -> bool:
    """After a clean-up. A run is alive as long as one of its holders is, which an engine that fell mute may have to be
    told; and what nobody started may be a young run's for two minutes."""
    assert arci("clean", env=own.env).exit_code == 0
    return left(own) == []


def mute(own: SecondEngine) -> AbstractContextManager[None]:
    return own.mute()


def full(own: SecondEngine) -> AbstractContextManager[None]:
    return own.full()


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (mute, ("the engine is mute", "restart the engine", "--resume", "arci clean")),
        (full, ("no space left on device", "docker system df; arci images prune", "--resume")),
    ],
)
def test_an_engine_that_breaks_in_mid_run_stops_the_run_which_is_resumed_once_it_is_mended(
    broken: Callable[[SecondEngine], AbstractContextManager[None]],
    told: tuple[str, ...],
    own: SecondEngine,
    tmp_path: Path,
) -> None:
    """N36, N49."""
    path = tmp_path / "retry-a-vs-b"
    with hasty("isolation.docker.engine", SILENCES_S), at_work(own, path, broken) as process:
        said = stopped(process, path)
    assert [words for words in told if words not in said] == [], said
    resumed(own, path)
    until(lambda: is_clean(own), ENDS_S)


def test_a_mute_engine_is_no_engine_to_any_command(own: SecondEngine, tmp_path: Path) -> None:
    """One after another would be tried for as long as any."""
    commands: dict[str, tuple[object, ...]] = {
        "run": ("run", *EXPERIMENT, "--out", tmp_path / "runs"),
        "clean": ("clean",),
        "images": ("images", "list"),
        "doctor": ("doctor", "--json"),
    }
    with own.mute():
        begun = {name: start_arci(*words, env=own.env) for name, words in commands.items()}
        ended = {name: (*process.communicate(timeout=ENDS_S), process.returncode) for name, process in begun.items()}
    assert {name: code for name, (_, _, code) in ended.items()} == dict.fromkeys(commands, 69), ended
    findings: list[dict[str, Any]] = json.loads(ended.pop("doctor")[0])["findings"]
    said = {name: stderr for name, (_, stderr, _) in ended.items()}
    said["doctor"] = next(f"{line['detail']} {line['remedy']}" for line in findings if line["name"] == "engine")
    for name, text in said.items():
        assert "the engine is mute" in text, name
        assert "restart the engine" in text, name
    assert not (tmp_path / "runs").exists()


def test_a_disk_that_is_full_refuses_a_run_before_its_first_trial(own: SecondEngine, tmp_path: Path) -> None:
    """N49: and building for it tells the same."""
    with own.full():
        ended = arci("run", *EXPERIMENT, "--out", tmp_path / "runs", env=own.env)
        cleaned, listed = arci("clean", env=own.env), arci("images", "list", env=own.env)
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert "disk: 0 MiB free where the engine keeps containers" in ended.stderr or "no space left" in ended.stderr
    assert not (tmp_path / "runs" / "retry-a-vs-b").exists()
    assert (cleaned.exit_code, listed.exit_code) == (0, 0)
