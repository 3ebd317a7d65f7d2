"""A small experiment on other engines: the same trials come out, whatever runs them, and nothing is left there."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from dockerds import OtherEngine
from e2e import EXAMPLES, Finished, arci, info, records
from gaps import GAPS
from reach import of_runs

EXPERIMENT = EXAMPLES / "retry_agent" / "a-vs-b.yaml"
N = 2
KEYS = ("seed", "outcome", "ending", "blame", "trace_sha256", "final_state")

pytestmark = pytest.mark.timeout(600)


def experiment(env: Mapping[str, str | None], out: Path, backend: str = "docker", path: Path = EXPERIMENT) -> Finished:
    return arci("run", path, "--isolation", backend, "--n", N, "--out", out, "--json", env=env)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the same trials come to in processes."""
    return told(experiment({}, tmp_path_factory.mktemp("expected"), "process").run)


def told(run: Path) -> dict[str, dict[str, Any]]:
    found = {trial: {key: record[key] for key in KEYS} for trial, record in records(run).items()}
    assert found
    return found


def accepting(directory: Path) -> Path:
    """The experiment in a copy that accepts limits which an engine does not enforce."""
    shutil.copytree(EXPERIMENT.parent, directory)
    path = directory / EXPERIMENT.name
    text = path.read_text(encoding="utf-8")
    assert "\nisolation:" not in text
    path.write_text(f"{text}\nisolation: {{allow_unenforced: true}}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", [name for name in GAPS if not GAPS[name]])
def test_the_trials_are_the_same_on_every_engine(
    name: str, started: Callable[[str], OtherEngine], expected: dict[str, Any], tmp_path: Path
) -> None:
    other = started(name)
    ended = experiment(other.variables, tmp_path)
    assert ended.stdout, ended.stderr
    assert told(ended.run) == expected
    assert info(ended.run)["engine"]["endpoint"] == other.env["DOCKER_HOST"]
    assert of_runs(other) == []


def test_an_engine_that_ignores_limits_is_refused_and_named(
    started: Callable[[str], OtherEngine], tmp_path: Path
) -> None:
    """N37: a limit that was accepted is not yet in force."""
    ended = experiment(started("rootless").variables, tmp_path)
    assert ended.exit_code == 3, ended.stderr
    assert "limits not enforced by this engine: memory:" in ended.stderr
    assert "isolation.allow_unenforced: true" in ended.stderr


def test_who_accepts_missing_limits_gets_the_same_trials_without_root(
    started: Callable[[str], OtherEngine], expected: dict[str, Any], tmp_path: Path
) -> None:
    """N33: no container needs the engine's socket."""
    ended = experiment(started("rootless").variables, tmp_path / "runs", path=accepting(tmp_path / "project"))
    assert ended.stdout, ended.stderr
    assert told(ended.run) == expected
    assert "limits not enforced" in ended.stderr


@pytest.fixture
def context(started: Callable[[str], OtherEngine], tmp_path: Path) -> Mapping[str, str | None]:
    """A docker context that names the engine behind TLS is the active one, and no variable names an engine."""
    other = started("tls")
    name, key = "elsewhere", hashlib.sha256(b"elsewhere").hexdigest()
    meta = tmp_path / "docker" / "contexts" / "meta" / key / "meta.json"
    meta.parent.mkdir(parents=True)
    endpoint = {"Host": other.env["DOCKER_HOST"], "SkipTLSVerify": False}
    meta.write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}}), encoding="utf-8")
    tls = tmp_path / "docker" / "contexts" / "tls" / key / "docker"
    shutil.copytree(other.env["DOCKER_CERT_PATH"], tls)
    (tmp_path / "docker" / "config.json").write_text(json.dumps({"currentContext": name}), encoding="utf-8")
    return {**other.variables, **dict.fromkeys(other.env), "DOCKER_CONFIG": str(tmp_path / "docker")}


def test_the_active_context_is_where_a_run_goes(
    context: Mapping[str, str | None], expected: dict[str, Any], tmp_path: Path
) -> None:
    """N32."""
    ended = experiment(context, tmp_path / "runs")
    assert ended.stdout, ended.stderr
    assert told(ended.run) == expected
    assert "the docker context 'elsewhere' is active" in info(ended.run)["engine"]["why"]


def test_who_has_no_certificate_gets_no_engine(started: Callable[[str], OtherEngine], tmp_path: Path) -> None:
    """Neither in the clear nor with an authority of which the engine has never heard."""
    other = started("tls")
    clear = experiment({**other.variables, "DOCKER_TLS_VERIFY": None, "DOCKER_CERT_PATH": None}, tmp_path)
    without = experiment({**other.variables, "DOCKER_CERT_PATH": str(tmp_path)}, tmp_path)
    for ended in (clear, without):
        assert ended.exit_code == 69, ended.stderr
        assert other.env["DOCKER_HOST"] in ended.stderr
        assert "DOCKER_HOST is set" in ended.stderr
