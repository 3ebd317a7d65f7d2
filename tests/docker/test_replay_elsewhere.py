"""A failure from one engine, replayed on a second, empty one without any network, through the command line."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import zstandard
from e2e import Finished, arci, recorded, records, start_arci, until
from meddler import Rule, hold, meddler
from modelserver import KEY, asking, provider
from second_engine import SecondEngine, second_engine  # noqa: F401  # the fixture is used by its name

from arci.bundle.engine_images import find_images
from arci.bundle.read import read_bundle
from arci.diagnose.replaying import Verdict, replay_trial
from arci.diagnose.rerun import read_recorded
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.isolation import DockerIsolation
from arci.isolation.docker.labels import EXPERIMENT, HOLDER, ROLE, dead_leftovers
from arci.store.reader import read_events

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]

N = 8
"""Seed 12005 has no reservation: agent B fails."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory, "retry_agent/a-vs-b.yaml", "docker", N)[1]


@pytest.fixture(scope="module")
def failure(run: Path) -> str:
    return next(trial for trial, record in records(run).items() if record["outcome"] == "FAIL")


@pytest.fixture(scope="module")
def own_key(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user with a key of its own; the bundle's maker."""
    return {"XDG_DATA_HOME": str(tmp_path_factory.mktemp("data"))}


@pytest.fixture(scope="module")
def bundle(run: Path, failure: str, own_key: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bundle") / "failure.arci"
    ended = arci("bundle", run, failure, "--out", out, env=own_key)
    assert ended.exit_code == 0, ended.stderr
    return out


def tags(engine: Engine) -> dict[str, tuple[str, ...]]:
    return {row["Id"]: tuple(sorted(row["RepoTags"] or ())) for row in engine.api.images(all=True)}


def volumes(engine: Engine) -> set[str]:
    return {row["Name"] for row in engine.api.volumes()["Volumes"] or ()}


async def test_a_failure_is_reproduced_on_an_engine_that_has_nothing_of_it(
    bundle: Path,
    own_key: Mapping[str, str],
    second_engine: SecondEngine,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = await second_engine.connect(monkeypatch)
    before = tags(other), volumes(other)
    env = {**own_key, "DOCKER_HOST": second_engine.url}
    told = arci("replay", bundle, "--isolation", "docker", "--json", env=env)
    assert (told.exit_code, told.json["verdict"]) == (0, "REPRODUCED"), told
    assert told.json["same_trace"] is True
    assert (tags(other), volumes(other)) == before
    other.close()


async def test_the_engine_that_made_it_replays_it_and_keeps_what_it_had(
    bundle: Path, own_key: Mapping[str, str], run: Path, failure: str, engine: Engine
) -> None:
    recorded_trial = read_recorded(run, failure)
    images = await find_images(engine, recorded_trial.manifest, recorded_trial.trial.arm, where=str(run))
    packed = {image.id for image in (await images.describe()).values()}  # others come and go on this engine

    def named() -> dict[str, tuple[str, ...]]:
        return {image: names for image, names in tags(engine).items() if image in packed}

    before = named()
    assert before.keys() == packed
    ended = arci("replay", bundle, env=own_key)
    assert ended.exit_code == 0, ended
    assert ended.stdout.startswith("REPRODUCED: FAIL completed")
    assert named() == before


def stranger(bundle: Path, tmp_path: Path, *options: str) -> Finished:
    return arci("replay", bundle, *options, env={"XDG_DATA_HOME": str(tmp_path)})


def test_a_stranger_s_bundle_needs_trust(bundle: Path, tmp_path: Path) -> None:
    refused = stranger(bundle, tmp_path)
    assert refused.exit_code == 64
    assert "--trust is required" in refused.stderr
    assert f"arci bundle --list {bundle}" in refused.stderr


def test_what_is_inside_is_listed_before_anything_runs(bundle: Path, own_key: Mapping[str, str]) -> None:
    listed = arci("bundle", "--list", bundle, "--json", env=own_key).json
    assert set(listed["images"]) == {"candidate", "boundary", "grader", "runtime"}
    assert listed["made_by"]["is_own"] is True
    layers = {image["sha256"]: image["layers"] for image in listed["images"].values()}
    assert all(layers.values())


async def test_an_agent_that_asks_for_something_else_is_invalid_and_the_nearest_call_is_named(
    run: Path, failure: str, engine: Engine
) -> None:
    recorded_trial = read_recorded(run, failure)
    events: list[dict[str, Any]] = read_events(run, failure)
    for event in events:
        if event["kind"] == "tool_start" and event["tool"] == "reserve":
            event["arguments"] = {**event["arguments"], "quantity": 3}
    images = await find_images(engine, recorded_trial.manifest, recorded_trial.trial.arm, where=str(run))
    refs = {key: image.id for key, image in (await images.describe()).items()}
    found = await replay_trial(
        recorded_trial.manifest,
        recorded_trial.trial,
        recorded_trial.record,
        events,
        DockerIsolation(engine),
        volatile={"image_refs": {"baseline": refs["candidate"], **refs}},
    )
    assert found.verdict is Verdict.INVALID
    assert "reserve" in found.reason
    assert "quantity was 3 there and is 2 now" in found.reason


async def test_an_agent_that_calls_a_model_is_reproduced_without_model_and_key(
    tmp_path: Path,
    own_key: Mapping[str, str],
    second_engine: SecondEngine,  # noqa: F811
) -> None:
    env = {**own_key, "OPENAI_API_KEY": KEY}
    down = [{"id": "down", "fault": {"name": "model_error", "tool": "model:openai", "bucket": "falsify"}}]
    with provider() as server:
        path = asking(tmp_path / "project", server, isolation="docker", n_per_arm=1, conditions=down)
        ended = arci("run", path, "--out", tmp_path / "runs", "--json", env=env)
    assert records(ended.run)["down:00000:candidate"]["outcome"] == "FAIL", ended.stderr
    out = tmp_path / "asking.arci"
    packed = arci("bundle", ended.run, "down:00000:candidate", "--out", out, env=env)
    assert packed.exit_code == 0, packed.stderr
    told = arci("replay", out, "--json", env={**own_key, "OPENAI_API_KEY": None, "DOCKER_HOST": second_engine.url})
    assert (told.exit_code, told.json["verdict"], told.json["same_trace"]) == (0, "REPRODUCED", True), told


def test_a_failure_is_minimised_in_containers(run: Path, failure: str, tmp_path: Path) -> None:
    told = arci("minimize", run, failure, "--out", tmp_path / "smaller.arci.json", "--json")
    assert told.exit_code == 0, told.stderr
    assert (told.json["result"], told.json["trials"]) == ("1-minimal", 2)


def test_it_is_hardly_larger_than_its_layers_packed(bundle: Path) -> None:
    with read_bundle(bundle) as opened:
        packed = sum(_packed_bytes(opened.layer(layer)) for layer in opened.document.layers)
    assert bundle.stat().st_size < 1.2 * packed


def _packed_bytes(pieces: Iterable[bytes]) -> int:
    packing = zstandard.ZstdCompressor().compressobj()
    return sum(len(packing.compress(piece)) for piece in pieces) + len(packing.flush())


def lent(engine: Engine) -> list[str]:
    return sorted(name for name in volumes(engine) if "-lent-" in name)


def holders(engine: Engine) -> list[str]:
    """Those that live and hold a lent runtime."""
    filters = {"label": [f"{ROLE}={HOLDER}", f"{EXPERIMENT}=runtime"], "status": ["running"]}
    return [row["Id"] for row in engine.api.containers(filters=filters)]


async def test_what_a_killed_replay_lent_is_cleaned_and_what_a_living_one_lends_is_not(
    bundle: Path,
    own_key: Mapping[str, str],
    second_engine: SecondEngine,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    other = await second_engine.connect(monkeypatch)
    env = {**own_key, "DOCKER_HOST": second_engine.url}
    # The first container after the holder is never made: it gets no further, and nobody outside must be quick.
    next_one = Rule("^POST /containers/create", hold, when=lambda: holders(other))
    with (
        meddler(tmp_path, second_engine.url, next_one) as meddling,
        start_arci("replay", bundle, env={**own_key, **meddling.env}) as process,
    ):
        try:
            until(lambda: next_one.done or process.poll() is not None, 300.0)
            process.send_signal(signal.SIGSTOP)  # it lives, and gets no further
            living = lent(other)
            while_alive = arci("clean", "--json", env=env).json
            assert lent(other) == living != []
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    assert while_alive["volumes"] == []
    until(lambda: not holders(other))
    cleaned = arci("clean", "--json", env=env).json
    assert (set(living) <= set(cleaned["volumes"]), lent(other)) == (True, [])
    # One that was just being made may be a young run's: it is left to a later sweep.
    rest, in_an_hour = other.api.containers(all=True), time.time() + 3600
    assert set(dead_leftovers(rest, (), now_s=in_an_hour).containers) == {row["Id"] for row in rest}
    for row in rest:
        other.api.remove_container(row["Id"], v=True, force=True)
    arci("images", "prune", "--all", env=env)
    other.close()
