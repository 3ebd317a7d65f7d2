"""Bundles of images on real engines: saved by one, loaded by it under no name, and by another that has none of them."""

from __future__ import annotations

import importlib
import io
import json
import secrets
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from second_engine import SecondEngine, second_engine  # noqa: F401  # the fixture is used by its name

import arci
from arci.bundle.engine_images import EngineImages, find_images
from arci.bundle.load import load_images, remove_loaded
from arci.bundle.read import read_bundle
from arci.bundle.trust import Key
from arci.bundle.write import write_bundle
from arci.errors import EngineError
from arci.isolation.docker.base_image import find_image
from arci.isolation.docker.build import BuildRequest, build
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images_identity import image_identity
from arci.model.manifest import Manifest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
runs: Any = importlib.import_module("runs")
"""The maker of synthetic runs, which unit tests share."""

pytestmark = pytest.mark.anyio

KEY = Key(b"k" * 32)
TRIAL = "reserve-timeout:00000:candidate"
TAG = f"arci-test/bundle-{secrets.token_hex(4)}"
"""Of this session alone: others may test on the same engine."""
INIT = Path(arci.__file__).parent / "_native"
BASE = 'FROM scratch\nCOPY arci-init /arci-init\nCOPY note /note\nCMD ["/arci-init", "hold"]\n'
AGENT = (
    f"FROM {TAG}:base\nCOPY agent /agent\nLABEL somebody=elses\nUSER 1234\nVOLUME /data\n"
    'HEALTHCHECK --interval=1s CMD ["/arci-init"]\nONBUILD RUN /pwned\nCMD ["/arci-init", "hold"]\n'
)
"""Shares a layer with the base; wants things done that a replay must not do."""


async def made(engine: Engine, name: str, dockerfile: str, **files: bytes) -> dict[str, Any]:
    """Build a small image and describe it."""
    context = io.BytesIO()
    program = (INIT / f"arci-init-{engine.api.version()['Arch']}").read_bytes()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for file, data in {"Dockerfile": dockerfile.encode(), "arci-init": program, **files}.items():
            member = tarfile.TarInfo(file)
            member.size, member.mode = len(data), 0o755
            tar.addfile(member, io.BytesIO(data))
    context.seek(0)
    await build(engine, context, BuildRequest(f"{TAG}:{name}", {}))
    found = await find_image(engine, f"{TAG}:{name}")
    assert found is not None
    return found


@pytest.fixture
def cleared(engine: Engine) -> Iterator[None]:
    """No image of these tests' names stays on the engine; each test removes what it loaded."""
    yield
    for row in engine.api.images(filters={"reference": TAG}):
        for name in row["RepoTags"]:
            engine.api.remove_image(name, force=True)


@pytest.fixture
async def bundle(engine: Engine, cleared: None, tmp_path: Path) -> Path:
    """A failure on two images that share a layer; neither is on the engine any more."""
    note = str(tmp_path).encode()
    other = await made(engine, "base", BASE, note=note)
    agent = await made(engine, "agent", AGENT, agent=b"#!/bin/false\n")
    images = {"baseline": agent, "candidate": agent, "boundary": other, "grader": other}
    run = runs.make_run(
        tmp_path,
        outcomes={"baseline": "P", "candidate": "F"},
        isolation={**runs.manifest_document()["isolation"], "backend": "docker"},
        images={key: image_identity(image) for key, image in images.items()},
        volatile={"image_refs": {key: image["Id"] for key, image in images.items()}},
    )
    manifest = Manifest.from_document(json.loads((run / "manifest.json").read_bytes()))
    found = await find_images(engine, manifest, "candidate", where=str(run), runtime=other["Id"])
    out = tmp_path / "failure.arci"
    await write_bundle(run, TRIAL, out, images=found, key=KEY)
    first = out.read_bytes()
    await write_bundle(run, TRIAL, out, images=found, key=KEY)
    assert out.read_bytes() == first
    for name in ("agent", "base"):
        engine.api.remove_image(f"{TAG}:{name}")
    return out


async def test_layers_are_carried_once_and_images_found_by_identity_alone(engine: Engine, bundle: Path) -> None:
    """N39, N40: whatever the engine calls an image, it is known by layers and configuration."""
    with read_bundle(bundle) as found:
        images = found.document.images
        assert images["candidate"].layers[:2] == images["boundary"].layers == images["runtime"].layers
        assert len(found.document.layers) == len(images["candidate"].layers)
        loaded = await load_images(found, engine)
        for key, image_id in loaded.images.items():
            inspect = await find_image(engine, image_id)
            assert inspect is not None
            assert image_identity(inspect) == images[key].identity
            assert not inspect["RepoTags"]
        assert set(loaded.fresh) == set(loaded.images.values())
        again = await load_images(found, engine)
        assert (again.images, again.fresh) == (loaded.images, ())
        assert await remove_loaded(engine, loaded) == ()
        assert [await find_image(engine, image_id) for image_id in loaded.fresh] == [None] * 2


async def test_a_name_of_this_engine_stays_with_what_it_names(engine: Engine, bundle: Path) -> None:
    """N41: the same tag stands for something else here, and still does afterwards."""
    elses = await made(engine, "agent", BASE, note=b"somebody else's")
    with read_bundle(bundle) as found:
        loaded = await load_images(found, engine)
        now = await find_image(engine, f"{TAG}:agent")
        assert now is not None
        assert now["Id"] == elses["Id"] != loaded.images["candidate"]
        await remove_loaded(engine, loaded)


async def test_an_empty_engine_without_network_runs_what_it_was_given(
    second_engine: SecondEngine,  # noqa: F811
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = await second_engine.connect(monkeypatch)
    try:
        assert other.api.images(all=True) == []
        with read_bundle(bundle) as found:
            loaded = await load_images(found, other)
            config = (await find_image(other, loaded.images["candidate"]) or {})["Config"]
            assert (config.get("Healthcheck"), config.get("OnBuild"), config["User"]) == (None, None, "1234")
            assert "somebody" not in config["Labels"]
            assert said(other, loaded.images["candidate"]) == b"ready\n"
            await remove_loaded(other, loaded)
        assert other.api.images(all=True) == []
    finally:
        other.close()


async def test_a_run_whose_images_are_gone_cannot_be_bundled(engine: Engine, bundle: Path, tmp_path: Path) -> None:
    """And the engine's own words say which one; no file is left behind."""
    run = tmp_path / "synthetic"
    manifest = Manifest.from_document(json.loads((run / "manifest.json").read_bytes()))
    gone = EngineImages(engine, {key: manifest.volatile["image_refs"][key] for key in ("candidate", "grader")})
    with pytest.raises(EngineError, match="No such image"):
        await write_bundle(run, TRIAL, tmp_path / "second.arci", images=gone, key=KEY)
    assert not (tmp_path / "second.arci").exists()


def said(engine: Engine, image: str) -> bytes:
    """The output of the image's own command, which ends with its input."""
    create: Any = engine.api.create_container  # untyped in the library's stubs
    container = create(image, network_disabled=True)["Id"]
    try:
        engine.api.start(container)
        engine.api.wait(container, timeout=60)
        output: bytes = engine.api.logs(container)
    finally:
        engine.api.remove_container(container, v=True, force=True)
    return output
