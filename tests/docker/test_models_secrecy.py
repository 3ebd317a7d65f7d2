"""A key of the host on a real engine: the provider is sent it, and it is found nowhere else, during a run and after."""

from __future__ import annotations

import base64
import json
import tarfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e import arci, records, start_arci, until
from models.asking import asking
from models.gate import Gate, gate

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import EXPERIMENT, ROLE

pytestmark = pytest.mark.timeout(600)

KEY = "sk-mark/7f3a+9c01d1e5b2=er"
FORMS = tuple(
    form.encode()
    for form in (KEY, urllib.parse.quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode().rstrip("="))
)
NAME = "OPENAI_API_KEY"


def assert_clean(where: str, data: bytes) -> None:
    assert not [form for form in FORMS if form in data], where


@pytest.fixture
def shut() -> Iterator[Gate]:
    with gate() as made:
        yield made


def test_a_key_is_sent_to_its_provider_and_found_nowhere_else(shut: Gate, engine: Engine, tmp_path: Path) -> None:
    path = asking(tmp_path, shut.base_url, 1, models={"key": NAME})
    with start_arci("run", path, "--workers", 2, "--out", tmp_path / "runs", "--json", env={NAME: KEY}) as process:
        try:
            until(lambda: shut.calls == 2 or process.poll() is not None, 300)
            assert process.poll() is None, process.communicate()
            found = [container for container in containers(engine) if container["State"] == "running"]
            assert {container["Labels"][ROLE] for container in found} >= {"agent", "boundary"}
            for container in found:
                assert_container_is_clean(engine, container)
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


def containers(engine: Engine) -> list[dict[str, Any]]:
    """Those of the experiment."""
    found: list[dict[str, Any]] = engine.api.containers(all=True, filters={"label": [f"{EXPERIMENT}=asking"]})
    return found


def assert_container_is_clean(engine: Engine, container: dict[str, Any]) -> None:
    """Its configuration and environment, its processes, its image, all of its files."""
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
        stream, _ = engine.api.get_archive(container["Id"], mount["Destination"])
        assert_clean(f"{mount['Destination']} of {role}", b"".join(stream))


def assert_processes_are_clean() -> None:
    """The command line of every process of this machine."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert_clean(str(file), file.read_bytes())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile


def test_the_search_would_find_a_key(engine: Engine, tmp_path: Path) -> None:
    """What the other test relies on: in an archive as the engine exports one, a key in a file is seen."""
    (tmp_path / "file").write_text(KEY)
    with tarfile.open(tmp_path / "files.tar", "w") as archive:
        archive.add(tmp_path / "file", "etc/file")
    with pytest.raises(AssertionError):
        assert_clean("files", (tmp_path / "files.tar").read_bytes())


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
