"""Loading without an engine: a fake of each kind of image store, told apart by what it calls an image (N40 to N42)."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import docker
import pytest
from bundles import HandMade, by_key, docker_bundle, layer, two_images

from arci.bundle.load import load_images, remove_loaded, replay_refs
from arci.bundle.read import read_bundle
from arci.bundle.refusal import BundleError
from arci.errors import EngineError
from arci.isolation.docker.endpoint import Endpoint
from arci.isolation.docker.engine import Engine
from arci.model.canonical import digest_bytes

pytestmark = pytest.mark.anyio


class FakeApi:
    """The part of an engine that keeps images. `is_classic`: an image is called by its configuration, else by another
    digest. `says`: what it answers to a load."""

    api_version = "1.41"

    def __init__(self, *, is_classic: bool = True, arch: str = "amd64", says: Iterable[dict[str, Any]] = ()) -> None:
        self.is_classic, self.arch, self.says = is_classic, arch, tuple(says)
        self.images_: dict[str, dict[str, Any]] = {}
        self.loads: list[list[str]] = []
        self.in_use: set[str] = set()
        self.keeps_nothing = False

    def close(self) -> None:
        pass

    def version(self) -> dict[str, str]:
        return {"Os": "linux", "Arch": self.arch}

    def images(self, filters: dict[str, str]) -> list[dict[str, Any]]:
        name, _, value = filters["label"].partition("=")
        labelled = ((i, (d["Config"].get("Labels") or {})) for i, d in self.images_.items())
        return [{"Id": image_id} for image_id, labels in labelled if labels.get(name) == value]

    def inspect_image(self, ref: str) -> dict[str, Any]:
        if ref not in self.images_:
            raise not_found()
        return self.images_[ref]

    def remove_image(self, ref: str) -> None:
        if ref in self.in_use:
            raise error_of(409)
        self.inspect_image(ref)
        del self.images_[ref]

    def load_image(self, data: Iterable[bytes]) -> Iterable[dict[str, Any]]:
        with tarfile.open(fileobj=io.BytesIO(b"".join(data))) as tar:
            names = tar.getnames()
            self.loads.append(names)
            for entry in json.load(cast(Any, tar.extractfile("manifest.json"))):
                assert entry["RepoTags"] is None
                assert set(entry["Layers"]) <= set(names)
                self.take(cast(Any, tar.extractfile(entry["Config"])).read())
        return self.says

    def take(self, config: bytes) -> str:
        """Keep an image, as this kind of store calls it."""
        document = json.loads(config)
        image_id = f"sha256:{digest_bytes(config if self.is_classic else b'index of ' + config)}"
        if not self.keeps_nothing:
            self.images_[image_id] = {
                "Id": image_id,
                "Os": document["os"],
                "Architecture": document["architecture"],
                "RootFS": {"Layers": document["rootfs"]["diff_ids"]},
                "Config": document["config"],
            }
        return image_id


def error_of(status: int) -> docker.errors.APIError:
    response: Any = type("Response", (), {"status_code": status, "reason": "", "url": ""})()
    return docker.errors.APIError("no", response)


def not_found() -> docker.errors.APIError:
    return error_of(404)


def engine_of(api: FakeApi) -> Engine:
    return Engine(cast(docker.APIClient, api), Endpoint("unix:///nowhere", "a test made it"))


@pytest.mark.parametrize("is_classic", [True, False])
async def test_images_are_found_by_identity_whatever_the_store_calls_them(is_classic: bool, tmp_path: Path) -> None:
    api = FakeApi(is_classic=is_classic)
    with read_bundle(await docker_bundle(tmp_path, runtime=two_images()[1])) as bundle:
        loaded = await load_images(bundle, engine_of(api))
        assert set(loaded.images) == {"candidate", "boundary", "grader", "runtime"}
        assert set(loaded.images.values()) == set(api.images_) == set(loaded.fresh)
        assert len(api.loads) == 1
        refs = replay_refs(bundle, loaded)
        assert set(refs) == {"baseline", "candidate", "boundary", "grader"}
        assert refs["baseline"] == refs["candidate"] == loaded.images["candidate"]
        layers = [name for name in api.loads[0] if name.endswith("/layer.tar")]
        assert sorted(layers) == [f"{name}/layer.tar" for name in sorted(bundle.document.layers)]
        again = await load_images(bundle, engine_of(api))
        assert (again.images, again.fresh, len(api.loads)) == (loaded.images, (), 1)


@pytest.mark.parametrize(
    "says",
    [
        [{"stream": "Loaded image: somebody/elses:tag\n"}],
        [{"stream": "Loaded image ID: sha256:" + "0" * 64 + "\n"}],
        [{"stream": "The image x:y already exists, renaming the old one with ID sha256:1 to empty string\n"}],
        [],
    ],
)
async def test_what_an_engine_says_of_a_load_is_not_believed(says: list[dict[str, str]], tmp_path: Path) -> None:
    api = FakeApi(says=says)
    with read_bundle(await docker_bundle(tmp_path)) as bundle:
        loaded = await load_images(bundle, engine_of(api))
    assert set(loaded.images.values()) == set(api.images_)


@pytest.mark.parametrize("is_classic", [True, False])
async def test_an_image_that_is_there_is_used_and_stays(is_classic: bool, tmp_path: Path) -> None:
    agent, other = two_images()
    api = FakeApi(is_classic=is_classic)
    own = api.take(agent.config)
    with read_bundle(await docker_bundle(tmp_path, by_key(agent, other))) as bundle:
        loaded = await load_images(bundle, engine_of(api))
    if is_classic:
        assert loaded.images["candidate"] == own
    assert own not in loaded.fresh
    assert await remove_loaded(engine_of(api), loaded) == ()
    assert list(api.images_) == [own]


async def test_an_image_in_use_is_left_and_named(tmp_path: Path) -> None:
    api = FakeApi()
    with read_bundle(await docker_bundle(tmp_path)) as bundle:
        loaded = await load_images(bundle, engine_of(api))
    api.in_use.add(loaded.images["grader"])
    assert await remove_loaded(engine_of(api), loaded) == (loaded.images["grader"],)
    assert list(api.images_) == [loaded.images["grader"]]
    api.in_use.clear()
    assert await remove_loaded(engine_of(api), loaded) == ()  # what is gone already is no error


async def test_a_foreign_platform_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    """N46: and the bundle says which one it is for."""
    image = HandMade(layer(a="b"), architecture="arm64", Cmd=["/x"])
    api = FakeApi()
    with read_bundle(await docker_bundle(tmp_path, by_key(image, image))) as bundle:
        with pytest.raises(BundleError, match="is for linux/arm64; the engine runs linux/amd64"):
            await load_images(bundle, engine_of(api))
        assert (api.loads, api.images_) == ([], {})
        await load_images(bundle, engine_of(FakeApi(arch="aarch64")))


async def test_a_load_that_fails_leaves_nothing(tmp_path: Path) -> None:
    api = FakeApi(says=[{"error": "no space left on device"}])
    with read_bundle(await docker_bundle(tmp_path)) as bundle:
        with pytest.raises(EngineError, match="no space left on device"):
            await load_images(bundle, engine_of(api))
        assert api.images_ == {}
        silent = FakeApi()
        silent.keeps_nothing = True
        with pytest.raises(EngineError, match="is not on the engine afterwards"):
            await load_images(bundle, engine_of(silent))


async def test_a_label_alone_makes_no_image_the_one_that_is_wanted(tmp_path: Path) -> None:
    agent, other = two_images()
    fake = HandMade(layer(evil="x"), Labels={"dev.arci.identity": agent.identity["sha256"]})
    api = FakeApi()
    evil = api.take(fake.config)
    with read_bundle(await docker_bundle(tmp_path, by_key(agent, other))) as bundle:
        loaded = await load_images(bundle, engine_of(api))
    assert evil not in loaded.images.values()
