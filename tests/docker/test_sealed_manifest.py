"""A sealed manifest runs what was sealed or nothing: images by identity, sources and ARCI's own runtime by digest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from e2e import EXAMPLES, arci, records

from arci.model.manifest import manifest_sha256

pytestmark = pytest.mark.timeout(600)  # the first of them builds the images

RETRY = EXAMPLES / "retry_agent" / "a-vs-b.yaml"


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A vs B, sealed for docker."""
    file = tmp_path_factory.mktemp("sealed") / "sealed.json"
    assert arci("seal", RETRY, "--isolation", "docker", "--n", 2, "--out", file).exit_code == 0
    document: dict[str, Any] = json.loads(file.read_bytes())
    return document


def _write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(json.dumps({**document, "record_sha256": manifest_sha256(document)}), encoding="utf-8")
    return path


def test_names_that_were_swapped_after_sealing_swap_no_image(sealed: dict[str, Any], tmp_path: Path) -> None:
    """Where an image lay is not sealed; what it is, is."""
    refs = sealed["volatile"]["image_refs"]
    swapped = {**refs, "baseline": refs["candidate"], "candidate": refs["baseline"]}
    file = _write(tmp_path / "m.json", {**sealed, "volatile": {**sealed["volatile"], "image_refs": swapped}})
    ended = arci("run", file, "--out", tmp_path / "runs", "--json")
    assert ended.json["manifest_sha256"] == sealed["record_sha256"]
    used = json.loads((ended.run / "manifest.json").read_bytes())["volatile"]["image_refs"]
    assert used == refs
    assert len(records(ended.run)) == 4


def test_an_image_that_is_not_there_is_refused_with_the_command_that_brings_it(
    sealed: dict[str, Any], tmp_path: Path
) -> None:
    images = {**sealed["images"], "grader": {**sealed["images"]["grader"], "sha256": "0" * 64}}
    ended = arci("run", _write(tmp_path / "m.json", {**sealed, "images": images}), "--out", tmp_path / "runs")
    assert ended.exit_code == 64
    assert "images.grader" in ended.stderr
    assert "arci images load" in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_another_runtime_than_the_sealed_one_is_refused(sealed: dict[str, Any], tmp_path: Path) -> None:
    ended = arci("run", _write(tmp_path / "m.json", {**sealed, "runtime_sha256": "0" * 64}), "--out", tmp_path / "runs")
    assert ended.exit_code == 64
    assert "runtime_sha256" in ended.stderr


def test_sources_that_changed_after_sealing_are_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLES / "retry_agent", project)
    file = tmp_path / "sealed.json"
    process = ("--isolation", "process", "--n", 2)
    assert arci("seal", project / "a-vs-b.yaml", *process, "--out", file).exit_code == 0
    agent = project / "agent_b" / "agent.py"
    agent.write_text(agent.read_text() + "\n# changed\n")
    ended = arci("run", file, "--out", tmp_path / "runs")
    assert ended.exit_code == 64
    assert "images.candidate" in ended.stderr
    assert "images.baseline" not in ended.stderr
