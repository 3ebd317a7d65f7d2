"""What the pages promise of containers: the first experiment, the grader in shell, the Dockerfile for a CA bundle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs_pages import blocks, files, page, write

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN

pytestmark = pytest.mark.timeout(900)

FIRST = files(page("docs/how-to/first-experiment.md"))


def arci(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "arci", *words]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, env=dict(os.environ))


def records(place: Path, name: str) -> list[dict[str, object]]:
    lines = (place / "runs" / name / "trials.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def test_the_first_experiment_is_the_same_in_containers(tmp_path: Path, engine: Engine) -> None:
    text = page("docs/how-to/first-experiment.md")
    write(tmp_path, FIRST)
    done = arci(tmp_path, "run", "--isolation", "docker")
    assert done.returncode == 1, done.stderr
    real = {line.rstrip() for line in done.stdout.splitlines()}
    shown = blocks(text, "text")[0].text.splitlines()
    assert [line for line in shown if line not in real] == []
    assert "warning:" not in done.stderr
    info = json.loads((tmp_path / "runs" / "pay-order" / "run.json").read_bytes())
    assert engine.api.containers(all=True, filters={"label": [f"{RUN}={info['run_id']}"]}) == []


def test_the_grader_in_shell_judges_in_its_container(tmp_path: Path) -> None:
    guide = files(page("docs/how-to/write-a-grader-in-another-language.md"))
    write(tmp_path, {**FIRST, **guide})
    arci(tmp_path, "run", "--n", "8")
    found = records(tmp_path, "pay-order-graded-in-shell")
    assert len(found) == 16
    for record in found:
        was_hit = bool(record["injections"]) and record["arm"] == "candidate"
        assert record["outcome"] == ("FAIL" if was_hit else "PASS"), record["detail"]
    assert {record["outcome"] for record in found} == {"PASS", "FAIL"}


@pytest.mark.parametrize("with_bundle", [False, True])
def test_the_dockerfile_for_a_bundle_builds_with_and_without_one(
    tmp_path: Path, engine: Engine, with_bundle: bool
) -> None:
    guide = page("docs/how-to/behind-a-proxy.md")
    note = f"# nothing to install; {tmp_path.parent.name} {with_bundle}\n"  # not built before
    write(tmp_path, {**FIRST, "world/Dockerfile": files(guide)["world/Dockerfile"], "world/requirements.txt": note})
    (tmp_path / "bundle.pem").write_text("a certificate\n", encoding="ascii")
    option = ["--build-ca", "bundle.pem"] if with_bundle else []
    done = arci(tmp_path, "images", "build", "arci.yaml", "--json", *option)
    assert done.returncode == 0, done.stderr
    image = json.loads(done.stdout)["boundary"]
    try:
        container = engine.api.create_container(image["id"], ["find", "/", "-xdev", "-name", "*build-ca*"])
        try:
            engine.api.start(container)
            assert engine.api.wait(container)["StatusCode"] in (0, 1)  # 1: a directory that it may not read
            assert engine.api.logs(container, stderr=False) == b""
        finally:
            engine.api.remove_container(container, force=True)
    finally:
        engine.api.remove_image(image["reference"])
