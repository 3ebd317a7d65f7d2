"""Guests run on Python 3.9, in an image that ARCI did not make, with bytecode of that image's own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from docker.types import Mount

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.runtime import ensure_runtime

EXAMPLE = Path(__file__).parents[2] / "examples" / "retry_agent"
TAG = "arci-test/python39:bullseye"
LABEL = 'LABEL "dev.arci.kind"="test"'


@pytest.fixture(scope="module")
def python39(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Debian 11 with its Python 3.9, kept on the engine from one session to the next."""
    if engine.api.images(TAG):
        return TAG
    repository, _, name = TAG.partition(":")
    if shutil.which("mmdebstrap") is None:  # a registry answers here: set-up would have installed it else
        engine.api.pull("python", "3.9-slim-bullseye")
        engine.api.tag("python:3.9-slim-bullseye", repository, name)
        return TAG
    archive = tmp_path_factory.mktemp("bullseye") / "root.tar"
    packages = "python3-minimal,libpython3-stdlib"
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", "bullseye", str(archive)], check=True
    )
    engine.api.import_image_from_file(str(archive), repository=repository, tag=name)
    archive.unlink()
    return TAG


@pytest.fixture(scope="module")
def store(python39: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of A vs B in which every guest starts from that image."""
    directory = tmp_path_factory.mktemp("experiment")
    project = directory / "retry_agent"
    shutil.copytree(EXAMPLE, project)
    for folder in ("world", "agent_a", "agent_b"):
        (project / folder / "Dockerfile").write_text(f"FROM {python39}\n{LABEL}\nWORKDIR /app\nCOPY . .\n")
    agent = next((project / "agent_a").glob("*.py"))
    agent.write_text(f"{agent.read_text()}\nimport sys\nprint('python', *sys.version_info[:2], sys.pycache_prefix)\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "arci", "run", str(project / "a-vs-b.yaml"), "--isolation", "docker"),
            *("--n", "8", "--out", str(directory / "runs"), "--json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1, 2), done.stderr
    assert json.loads(done.stdout)["conditions"][0]["baseline"]["successes"] == 8
    return directory / "runs" / "retry-a-vs-b"


@pytest.mark.timeout(300)
def test_an_experiment_runs_whole_on_python_39(store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "arci", "logs", str(store), "reserve-timeout:00000:baseline", "--stream", "stdout"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "python 3 9 None\n"


@pytest.mark.timeout(300)
def test_each_foreign_image_gets_bytecode_of_its_own(store: Path, engine: Engine) -> None:
    manifest = json.loads((store / "manifest.json").read_text())
    runtime = anyio.run(ensure_runtime, engine)
    images = {ref.partition(":")[2][:12] for ref in manifest["volatile"]["image_refs"].values()}
    assert len(images) == 3, "agent A, agent B, and the project"
    prefix = f"arci-bytecode-{runtime.volume.removeprefix('arci-runtime-')}-"
    found = {v["Name"].removeprefix(prefix) for v in engine.api.volumes()["Volumes"] if v["Name"].startswith(prefix)}
    assert images <= found
    said = engine.api.create_host_config(network_mode="none", binds=None, mounts=[Mount("/b", prefix + min(images))])
    container = engine.api.create_container(TAG, ["find", "/b", "-name", "worker.cpython-39.pyc"], host_config=said)
    try:
        engine.api.start(container)
        engine.api.wait(container)
        assert b"guest/worker.cpython-39.pyc" in engine.api.logs(container)
    finally:
        engine.api.remove_container(container, force=True)
