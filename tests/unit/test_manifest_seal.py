"""Sealing a descriptor, reading it back, and noticing a change; which file is which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arci.errors import SpecError
from arci.manifest.descriptor import read_descriptor
from arci.manifest.seal import is_manifest, load_manifest, seal
from arci.model.canonical import canonical
from arci.model.manifest import Manifest, manifest_sha256

TEXT = """\
experiment_id: sealed
toolset: w:make
contract: {oracle: 'j:check', forbidden_tools: [drop], hard: [forbidden_tools]}
baseline: {agent: 'a:run', env: {KEY: '${KEY}'}}
candidate: b:run
secrets: [KEY]
conditions: [{id: slow, fault: {name: latency, occurrence: {from: 1}}}]
prior_runs: [pilot]
evidence: ["out/*.json"]
"""


def sealed(**more: Any) -> dict[str, Any]:
    descriptor = read_descriptor(TEXT.encode(), Path("/somewhere/arci.yaml"))
    return seal(descriptor, **{"images": {"project": {"sha256": "1" * 64}}, "runtime_sha256": "2" * 64, **more})


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "manifest.json"
    path.write_bytes(canonical(document))
    return path


def resealed(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "record_sha256": manifest_sha256(document)}


def test_a_sealed_manifest_is_read_back_as_it_was(tmp_path: Path) -> None:
    document = sealed()
    assert load_manifest(written(tmp_path, document)) == document
    manifest = Manifest.from_document(document)
    assert manifest.sha256 == document["record_sha256"]
    assert manifest.arms["baseline"].secret_env == {"KEY": "KEY"}
    assert manifest.conditions[0].faults[0].occurrence.kind == "from"
    assert manifest.contract.hard == ("forbidden_tools",)


def test_the_directory_and_times_are_kept_and_not_sealed() -> None:
    document = sealed()
    assert document["volatile"]["root"] == "/somewhere"
    assert sealed(volatile={"sealed_at": "later", "root": "/x"})["record_sha256"] == document["record_sha256"]


def test_earlier_runs_come_after_the_descriptors_own() -> None:
    assert sealed(prior_runs=["sealed.1"])["prior_runs"] == ["pilot", "sealed.1"]
    assert sealed(prior_runs=["sealed.1"])["record_sha256"] != sealed()["record_sha256"]


@pytest.mark.parametrize(
    ("key", "value"), [("delta", 0.2), ("images", {}), ("runtime_sha256", "3" * 64), ("extra", 1), ("n_per_arm", 201)]
)
def test_a_changed_manifest_does_not_hold_its_seal(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(SpecError, match="the seal does not hold"):
        load_manifest(written(tmp_path, {**sealed(), key: value}))


@pytest.mark.parametrize(
    ("key", "value"),
    [("n_per_arm", "200"), ("tasks", []), ("tasks", 3), ("arms", {}), ("alpha", None), ("conditions", [{"id": "x"}])],
)
def test_a_manifest_of_other_hands_is_refused_even_with_a_good_seal(tmp_path: Path, key: str, value: Any) -> None:
    with pytest.raises(SpecError) as caught:
        load_manifest(written(tmp_path, resealed({**sealed(), key: value})))
    assert len(caught.value.problems) == 1


def test_another_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"arci\.manifest/9"):
        load_manifest(written(tmp_path, resealed({**sealed(), "format": "arci.manifest/9"})))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"a": NaN}', b'{"a":1,"a":2}', b"[" * 9999]
)
def test_bytes_that_are_no_manifest_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(SpecError):
        load_manifest(path)


def test_manifest_and_descriptor_are_told_apart(tmp_path: Path) -> None:
    manifest = written(tmp_path, sealed())
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps(sealed(), indent=2), encoding="utf-8")
    cut = tmp_path / "cut.json"
    cut.write_bytes(canonical(sealed())[:-5])
    descriptor = tmp_path / "arci.yaml"
    descriptor.write_text(TEXT, encoding="utf-8")
    flow = tmp_path / "flow.yaml"
    flow.write_text("{experiment_id: x, toolset: 'a:b'}", encoding="utf-8")
    assert [is_manifest(p) for p in (manifest, pretty, cut, descriptor, flow)] == [True, True, True, False, False]
