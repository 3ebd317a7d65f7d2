"""A key of the host on a real engine: the provider is sent it, and it is found nowhere else, during a run and after, in
what is bundled of it and what its replay says."""

from __future__ import annotations

import json
import secrets
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from e2e import arci, records, start_arci, until
from models.asking import asking
from models.gate import Gate, gate

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import EXPERIMENT, ROLE
from arci.run.secret_forms import encoded_forms, plain_forms

pytestmark = pytest.mark.timeout(1200)

CORE = "9c01d1e5b2"
KEY = f"sk-mark/7f3a+{CORE}=er"
FORMS = tuple(form.encode() for form in sorted(plain_forms(CORE) | encoded_forms(CORE)))
"""Of its middle, which stands in every form of the whole: few enough to look for in all layers of images."""
NAME = "OPENAI_API_KEY"
HELD_S = 900.0
"""Longer than all files of all containers take to be looked through, while their agents wait for an answer."""


def assert_clean(where: str, data: bytes) -> None:
    assert not [form for form in FORMS if form in data], where


@pytest.fixture
def shut() -> Iterator[Gate]:
    with gate() as made:
        yield made


def test_a_key_is_sent_to_its_provider_and_found_nowhere_else(shut: Gate, engine: Engine, tmp_path: Path) -> None:
    name = f"asking-{secrets.token_hex(4)}"  # the engine may have others' runs of this very test
    held = {"budgets": {"max_seconds": HELD_S}, "models": {"key": NAME, "request_seconds": HELD_S}}
    path = asking(tmp_path, shut.base_url, 1, experiment_id=name, **held)
    with start_arci("run", path, "--workers", 2, "--out", tmp_path / "runs", "--json", env={NAME: KEY}) as process:
        try:
            until(lambda: shut.calls == 2 or process.poll() is not None, 300)
            assert process.poll() is None, process.communicate()
            found = [container for container in containers(engine, name) if container["State"] == "running"]
            assert {container["Labels"][ROLE] for container in found} >= {"agent", "boundary"}
            volumes: set[str] = set()
            for container in found:
                assert_container_is_clean(engine, container, volumes)
            assert_processes_are_clean()
            shut.open()
            stdout, stderr = process.communicate(timeout=300)
        finally:
            process.kill()
    assert shut.authorisations == [f"Bearer {KEY}"] * 2
    assert_clean("output", (stdout + stderr).encode())
    run = Path(json.loads(stdout)["run"])
    for file in run.rglob("*"):
        if file.is_file():
            assert_clean(str(file), file.read_bytes())
    found_records = records(run).values()
    assert [record["outcome"] for record in found_records] == ["PASS", "PASS"], [r["detail"] for r in found_records]
    assert b"You are Bearer " in (run / "events.jsonl").read_bytes()
    assert_bundle_and_replay_are_clean(run, next(iter(records(run))), tmp_path)
    assert len(shut.authorisations) == 2  # a replay asks no one


def assert_bundle_and_replay_are_clean(run: Path, trial_id: str, directory: Path) -> None:
    """The key is at hand for both, as it is for a user's."""
    env, bundle = {NAME: KEY, "XDG_DATA_HOME": str(directory / "data")}, directory / "trial.arci"
    packed = arci("bundle", run, trial_id, "--out", bundle, "--json", env=env)
    assert packed.exit_code == 0, packed.stderr
    names = assert_bundle_is_clean(bundle)
    assert {"bundle.json", "manifest.json", "record.json", "events.jsonl"} <= names
    assert any(name.startswith("logs/") for name in names)
    assert any(name.endswith(".tar.zst") for name in names)
    listed = arci("bundle", "--list", bundle, "--json", env=env)
    told = arci("replay", bundle, "--json", env=env)
    assert (told.exit_code, told.json["verdict"], told.json["same_trace"]) == (0, "REPRODUCED", True), told
    for ended in (packed, listed, told):
        assert_clean("output", (ended.stdout + ended.stderr).encode())
    for file in (directory / "data").rglob("*"):
        if file.is_file():
            assert_clean(str(file), file.read_bytes())


def assert_bundle_is_clean(bundle: Path) -> set[str]:
    """Every member as it is stored, and unpacked; their names. A layer is a tar, which holds its files as they are."""
    assert_clean(str(bundle), bundle.read_bytes())
    names = set()
    with tarfile.open(bundle) as archive:
        for member in archive:
            file = archive.extractfile(member)
            assert file is not None
            assert_clean(member.name, member.name.encode())
            if member.name.endswith(".zst"):
                with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as unpacked:
                    assert_clean(f"{member.name}, unpacked", unpacked.read())
            names.add(member.name)
    return names


def containers(engine: Engine, experiment: str) -> list[dict[str, Any]]:
    """Those of the experiment."""
    found: list[dict[str, Any]] = engine.api.containers(all=True, filters={"label": [f"{EXPERIMENT}={experiment}"]})
    return found


def assert_container_is_clean(engine: Engine, container: dict[str, Any], volumes: set[str]) -> None:
    """Its configuration and environment, its processes, its image, all of its files; of its volumes those that are not
    among `volumes`, which they are added to."""
    role = container["Labels"][ROLE]
    inspected = engine.api.inspect_container(container["Id"])
    assert_clean(f"inspect of {role}", json.dumps(inspected).encode())
    assert_clean(f"processes of {role}", json.dumps(engine.api.top(container["Id"], "axe")).encode())
    image = engine.api.inspect_image(container["ImageID"])  # type: ignore[no-untyped-call]  # untyped in the stubs
    assert_clean(f"image of {role}", json.dumps(image).encode())
    history = engine.api.history(container["ImageID"])  # type: ignore[no-untyped-call]  # untyped in the stubs
    assert_clean(f"history of the image of {role}", json.dumps(history).encode())
    assert_clean(f"files of {role}", b"".join(engine.api.export(container["Id"])))
    for mount in inspected["Mounts"]:
        name = mount.get("Name") or f"{container['Id']}:{mount['Destination']}"
        if name in volumes:
            continue
        volumes.add(name)
        stream, _ = engine.api.get_archive(container["Id"], mount["Destination"])
        assert_clean(f"{mount['Destination']} of {role}", b"".join(stream))


def assert_processes_are_clean() -> None:
    """The command line of every process of this machine."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert_clean(str(file), file.read_bytes())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile


def test_the_search_would_find_a_key_in_any_form_in_files_and_in_packed_members(tmp_path: Path) -> None:
    """What the other test relies on."""
    for form in sorted(plain_forms(KEY) | encoded_forms(KEY)):
        with pytest.raises(AssertionError):
            assert_clean("text", f"before {form} after".encode())
    (tmp_path / "file").write_text(KEY)
    with tarfile.open(tmp_path / "files.tar", "w") as archive:
        archive.add(tmp_path / "file", "etc/file")
    with pytest.raises(AssertionError):
        assert_clean("files", (tmp_path / "files.tar").read_bytes())
    layer = tmp_path / "layer.tar.zst"
    layer.write_bytes(zstandard.compress((tmp_path / "files.tar").read_bytes() + bytes(10240)))
    with tarfile.open(tmp_path / "made.arci", "w") as archive:
        archive.add(layer, "images/layers/0.tar.zst")
    with pytest.raises(AssertionError, match="unpacked"):
        assert_bundle_is_clean(tmp_path / "made.arci")


@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        ("https://api.openai.com.example.org/v1", "api.openai.com.example.org"),
        ("https://api.anthropic.com/v1", "api.anthropic.com"),
        ("http://192.0.2.7/v1", "http to 192.0.2.7"),
    ],
)
def test_a_descriptor_that_points_a_key_elsewhere_is_refused_before_trial_1(
    base_url: str, said: str, tmp_path: Path
) -> None:
    path = asking(tmp_path, base_url, 1, models={"key": NAME})
    ended = arci("run", path, "--out", tmp_path / "runs", env={NAME: KEY, "ARCI_UPSTREAM_HOSTS": None})
    assert (ended.exit_code, ended.stdout) == (64, "")
    assert said in ended.stderr
    assert_clean("stderr", ended.stderr.encode())
    assert not (tmp_path / "runs").exists()
