"""What is refused before trial 1 on an engine: wrong descriptors, missing images, too small limits; nothing is made."""

from __future__ import annotations

import shlex
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from e2e import EXAMPLES, Finished, arci, descriptor, project

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import EXPERIMENT

RETRY = EXAMPLES / "retry_agent" / "a-vs-b.yaml"
DOCUMENT: dict[str, Any] = {
    "task": {},
    "toolset": "world:open_world",
    "oracle": "world:judge",
    "baseline": "agent:run",
    "candidate": "agent:run",
    "isolation": "docker",
    "n_per_arm": 1,
}
MISTAKES: dict[str, Any] = {
    "toolset": "world",
    "oracle": "no-colon",
    "candidate": {"label": "without a command"},
    "conditions": [{"id": "c", "fault": {"name": "tool_timeuot", "tool": "reserve"}}],
    "alpha": "0.05",
    "delta": 2,
    "dela": 0.1,
}


def clock(engine: Engine) -> int:
    """Seconds since 1970, as the engine has them."""
    return int(datetime.fromisoformat(engine.api.info()["SystemTime"][:19] + "+00:00").timestamp())


def made_since(engine: Engine, since: int, experiment: str) -> list[Any]:
    """Containers made for an experiment, those that are gone again as well."""
    filters = {"type": "container", "event": "create", "label": f"{EXPERIMENT}={experiment}"}
    return list(engine.api.events(since=since, until=clock(engine) + 1, filters=filters, decode=True))


def refused(directory: Path, engine: Engine, experiment: str, changes: dict[str, Any]) -> tuple[Finished, list[Any]]:
    """`arci run` on a descriptor with `changes`, and the containers that it made."""
    path = descriptor(directory, {**DOCUMENT, "experiment_id": experiment, **changes})
    since = clock(engine)
    ended = arci("run", path, "--out", directory / "runs")
    assert ended.stdout == ""
    assert "Traceback (most recent call last)" not in ended.stderr.partition("arci.yaml")[0]
    assert not (directory / "runs").exists()
    return ended, made_since(engine, since, experiment)


def test_seven_mistakes_are_seven_lines_and_no_container_is_made(tmp_path: Path, engine: Engine) -> None:
    ended, made = refused(tmp_path, engine, "seven-mistakes", MISTAKES)
    assert (ended.exit_code, made) == (64, [])
    assert len(ended.stderr.splitlines()) == len(MISTAKES)


def test_an_image_that_cannot_be_had_is_named_and_no_container_is_made(tmp_path: Path, engine: Engine) -> None:
    project(tmp_path, {"world.py": "", "agent.py": ""})
    image = "127.0.0.1:9/arci-test/none:1"
    ended, made = refused(tmp_path, engine, "no-image", {"images": {"project": {"image": image}}})
    assert (ended.exit_code, made) == (64, [])
    assert image in ended.stderr


def test_code_that_is_not_in_the_image_is_refused_before_trial_1(tmp_path: Path, engine: Engine) -> None:
    project(
        tmp_path, {"world.py": "def open_world(task, seed):\n    raise SystemExit\n", "agent.py": "import nowhere\n"}
    )
    ended, made = refused(tmp_path, engine, "not-there", {"toolset": "missing:open_world"})
    assert ended.exit_code == 64
    assert "missing" in ended.stderr
    assert made  # it was tried where it would have run


def test_more_workers_than_files_can_be_open_for_are_refused_early(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "arci", "run", RETRY, "--isolation", "docker", "--workers", 64, "--out", tmp_path]
    words = " ".join(shlex.quote(str(word)) for word in command)
    done = subprocess.run(["sh", "-c", f"ulimit -n 256; exec {words}"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "")
    assert "--workers" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:9"])
@pytest.mark.parametrize("command", [("run", str(RETRY), "--isolation", "docker"), ("clean",), ("images", "list")])
def test_an_engine_that_does_not_answer_is_named(command: tuple[str, ...], host: str) -> None:
    ended = arci(*command, env={"DOCKER_HOST": host})
    assert (ended.exit_code, ended.stdout) == (69, "")
    assert host in ended.stderr
    assert "DOCKER_HOST is set" in ended.stderr
    assert "Traceback" not in ended.stderr
