"""Which images a descriptor asks for, where each role's code lies, and when the agent could read its judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from arci.errors import SpecError
from arci.manifest.descriptor import Descriptor, Overrides, load_descriptor
from arci.manifest.images import IMAGE_KEYS, ImageRequest, image_requests

TEXT = """\
experiment_id: pictured
toolset: w:make
oracle: j:check
isolation: docker
"""
ARMS = "baseline: a:run\ncandidate: b:run\n"


def load(tmp_path: Path, text: str, backend: str | None = None) -> Descriptor:
    for name in ("world", "old", "new", "judge"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "arci.yaml").write_text(TEXT + text, encoding="utf-8")
    return load_descriptor(tmp_path / "arci.yaml", overrides=Overrides(backend=backend))


def test_everything_is_built_from_the_descriptors_directory_unless_said_otherwise(tmp_path: Path) -> None:
    descriptor = load(tmp_path, ARMS)
    assert image_requests(descriptor) == dict.fromkeys(IMAGE_KEYS, ImageRequest("build", context=tmp_path))
    assert (descriptor.document["project_source"], descriptor.document["arms"]["baseline"]["source"]) == (".", ".")


def test_arms_with_contexts_and_a_project_image_are_apart(tmp_path: Path) -> None:
    arms = "baseline: {agent: 'a:run', context: old}\ncandidate: {agent: 'a:run', context: ./new/}\n"
    descriptor = load(tmp_path, arms + "images: {project: {build: {context: world}}}\n")
    requests = image_requests(descriptor)
    assert [requests[key].context for key in IMAGE_KEYS] == [tmp_path / d for d in ("old", "new", "world", "world")]
    assert descriptor.document["project_source"] == "world"
    assert descriptor.sources == {"baseline": "old", "candidate": "new", "project": "world"}
    assert descriptor.warnings == ()


def test_an_arms_own_image_goes_before_the_roles_and_the_projects(tmp_path: Path) -> None:
    arms = "baseline: {agent: 'a:run', image: 'x:1'}\ncandidate: b:run\n"
    images = "images: {agent: {image: 'y:2'}, boundary: {image: 'z:3'}, project: {image: 'p:4'}}\n"
    requests = image_requests(load(tmp_path, arms + images + "grader: {image: 'g:5'}\n"))
    assert [requests[key].reference for key in IMAGE_KEYS] == ["x:1", "y:2", "z:3", "g:5"]
    assert {request.kind for request in requests.values()} == {"reference"}


def test_a_build_carries_its_dockerfile_arguments_and_target(tmp_path: Path) -> None:
    (tmp_path / "Other").write_text("FROM scratch\n", encoding="utf-8")
    build = "images: {agent: {build: {context: ., dockerfile: Other, args: {B: '2', A: '1'}, target: run}}}\n"
    request = image_requests(load(tmp_path, ARMS + build))["candidate"]
    assert request == ImageRequest("build", None, tmp_path, "Other", (("A", "1"), ("B", "2")), "run")


def test_an_agent_that_shares_the_judges_image_is_warned_of(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, ARMS).warnings
    assert "baseline and candidate" in warning
    (warning,) = load(tmp_path, ARMS.replace("b:run", "{agent: 'b:run', context: new}")).warnings
    assert "image of baseline also holds" in warning


def test_separate_images_can_be_required(tmp_path: Path) -> None:
    text = TEXT.replace("isolation: docker", "isolation: {backend: docker, require_separate_images: true}") + ARMS
    (tmp_path / "arci.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_descriptor(tmp_path / "arci.yaml")
    (problem,) = caught.value.problems
    assert problem.path == "isolation.require_separate_images"
    assert "baseline and candidate" in problem.message


def test_process_isolation_has_one_directory_for_world_and_oracle(tmp_path: Path) -> None:
    text = ARMS + "images: {boundary: {build: {context: world}}, grader: {build: {context: judge}}}\n"
    load(tmp_path, text)
    with pytest.raises(SpecError, match=r"images\.grader"):
        load(tmp_path, text, backend="process")
