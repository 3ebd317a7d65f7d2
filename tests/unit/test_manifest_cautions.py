"""Two arms that are the same program: told; and what makes them differ."""

from __future__ import annotations

from typing import Any

import pytest
from runs import manifest_document

from arci.manifest.cautions import arms_warnings
from arci.model.manifest import Manifest

ONE = {"sha256": "1" * 64}


def told(images: dict[str, Any], **of_candidate: Any) -> list[str]:
    arms = manifest_document()["arms"]
    arms["candidate"] = {**arms["baseline"], "label": "B", **of_candidate}
    return arms_warnings(Manifest.from_document(manifest_document(arms=arms, images=images)))


def test_arms_that_run_the_same_are_told_whatever_they_are_called() -> None:
    (text,) = told({"baseline": ONE, "candidate": ONE})
    assert "only noise is compared" in text
    assert told({"baseline": ONE, "candidate": ONE}, source="elsewhere") == [text]


@pytest.mark.parametrize(
    "change",
    [
        {"ref": "another:run"},
        {"kind": "command", "ref": None, "argv": ["./agent"]},
        {"env": {"MODEL": "small"}},
        {"secret_env": {"KEY": "OTHER_KEY"}},
    ],
)
def test_arms_that_differ_in_program_or_environment_are_not(change: dict[str, Any]) -> None:
    assert told({"baseline": ONE, "candidate": ONE}, **change) == []


def test_arms_of_other_images_or_of_none_that_is_known_are_not() -> None:
    assert told({"baseline": ONE, "candidate": {"sha256": "2" * 64}}) == []
    assert told({}) == []
