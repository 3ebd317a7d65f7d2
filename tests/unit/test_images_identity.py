"""The identity of an image: what changes it, and what must not, on shapes as two kinds of store give them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from arci.isolation.docker.images_identity import image_identity, normal_platform

DATA = Path(__file__).parents[1] / "data"


def captured(store: str) -> dict[str, Any]:
    """The same image as a classic and as a containerd store describe it; see tests/data/README-images.md."""
    value: dict[str, Any] = json.loads((DATA / f"image-inspect-{store}.json").read_text())
    return value


def test_both_kinds_of_store_give_the_same_identity_under_different_ids() -> None:
    classic, containerd = captured("classic"), captured("containerd")
    assert classic["Id"] != containerd["Id"]
    assert image_identity(classic) == image_identity(containerd)


@pytest.mark.parametrize(
    "change",
    [
        {"Id": "sha256:" + "0" * 64},
        {"RepoTags": ["other:1"]},
        {"RepoDigests": ["other@sha256:" + "1" * 64]},
        {"Created": "2020-01-01T00:00:00Z"},
        {"Size": 1},
        {"Parent": "sha256:" + "2" * 64},
        {"Variant": ""},
    ],
)
def test_names_times_and_sizes_change_nothing(change: dict[str, Any]) -> None:
    image = captured("classic")
    assert image_identity({**image, **change}) == image_identity(image)


@pytest.mark.parametrize(
    ("key", "empty"),
    [
        ("Cmd", []),
        ("Entrypoint", []),
        ("Env", []),
        ("Volumes", {}),
        ("Shell", []),
        ("WorkingDir", ""),
        ("User", ""),
        ("StopSignal", ""),
        ("ArgsEscaped", False),
    ],
)
def test_empty_null_and_missing_are_alike(key: str, empty: Any) -> None:
    image = captured("classic")
    given = []
    for value in (empty, None):
        changed = copy.deepcopy(image)
        changed["Config"][key] = value
        given.append(image_identity(changed)["sha256"])
    missing = copy.deepcopy(image)
    missing["Config"].pop(key, None)
    assert {*given, image_identity(missing)["sha256"]} == {given[0]}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("Cmd", ["other"]),
        ("Entrypoint", ["/bin/other"]),
        ("Env", ["PATH=/other"]),
        ("WorkingDir", "/other"),
        ("User", "1000"),
        ("Volumes", {"/data": {}}),
        ("StopSignal", "SIGINT"),
        ("Shell", ["/bin/bash", "-c"]),
        ("ArgsEscaped", True),
    ],
)
def test_what_changes_behaviour_changes_the_identity(key: str, value: Any) -> None:
    image = captured("classic")
    changed = copy.deepcopy(image)
    changed["Config"][key] = value
    assert image_identity(changed)["sha256"] != image_identity(image)["sha256"]
    assert image_identity(changed)["layers_sha256"] == image_identity(image)["layers_sha256"]


def test_a_layer_more_fewer_or_swapped_changes_the_identity() -> None:
    image = captured("classic")
    layers = image["RootFS"]["Layers"]
    assert len(layers) > 1
    seen = {image_identity(image)["sha256"]}
    for other in ([*layers, "sha256:" + "3" * 64], layers[:-1], layers[::-1]):
        seen.add(image_identity({**image, "RootFS": {"Type": "layers", "Layers": other}})["sha256"])
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("linux/amd64", "linux/amd64"),
        ("linux/x86_64", "linux/amd64"),
        ("Linux/aarch64", "linux/arm64"),
        ("linux/arm64/v8", "linux/arm64"),
        ("linux/arm/v7", "linux/arm"),
        ("linux/arm/v6", "linux/arm/v6"),
    ],
)
def test_a_platform_is_written_one_way(text: str, expected: str) -> None:
    assert normal_platform(text) == expected
