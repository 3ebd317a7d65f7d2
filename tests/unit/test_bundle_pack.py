"""Images in a bundle: repacked from any layout, held against the seal, unpacked before they are believed."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from bundles import (
    KEY,
    TRIAL,
    FakeImages,
    HandMade,
    add,
    by_key,
    docker_bundle,
    docker_run,
    document_of,
    forge,
    layer,
    link,
    members_of,
    oci_archive,
    saved,
    smaller,
    two_images,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from trials import mcp, mcp_server

from arci.bundle.image_config import loadable, parse_config
from arci.bundle.packing import pack, unpacked
from arci.bundle.read import read_bundle
from arci.bundle.refusal import DEFAULT_BOUNDS, Bounds, BundleError
from arci.bundle.write import write_bundle
from arci.errors import UsageError
from arci.model.canonical import digest_bytes

pytestmark = pytest.mark.anyio


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_each_layer_is_there_once_and_unpacks_to_its_own_tar(tmp_path: Path) -> None:
    agent, other = two_images()
    with read_bundle(await docker_bundle(tmp_path, by_key(agent, other), runtime=other)) as found:
        assert set(found.images) == {"candidate", "boundary", "grader", "runtime"}
        assert {k: b"".join(found.layer(k)) for k in found.document.layers} == {
            digest_bytes(content): content for content in agent.layers
        }
        assert found.images["candidate"].sha256 == agent.identity["sha256"]


async def test_servers_with_images_of_their_own_are_carried_too(tmp_path: Path) -> None:
    agent, other = two_images()
    images = {**by_key(agent, other), "server:files": HandMade(layer(server="x"), Cmd=["/server"])}
    environment = mcp(mcp_server("files", has_image=True), mcp_server("clock"))
    document = document_of(await docker_bundle(tmp_path, images, environment=environment))
    assert set(document.images) == {"candidate", "boundary", "grader", "server:files"}
    assert len(document.layers) == 3


async def test_every_layout_of_an_archive_gives_the_same_bundle(tmp_path: Path) -> None:
    """Links to shared layers, whole copies of them, and compressed blobs (tried on engines)."""
    agent, other = two_images()
    made = []
    archives = {
        "classic": saved(agent, other),
        "copies": merged(saved(agent), saved(other)),
        "oci": oci_archive(agent, other),
        "noise": merged(noise(), saved(agent, other)),
    }
    for name, archive in archives.items():
        (tmp_path / name).mkdir()
        made.append((await docker_bundle(tmp_path / name, by_key(agent, other), archive=archive)).read_bytes())
    assert [bundle == made[0] for bundle in made] == [True] * 4


def merged(*archives: bytes) -> bytes:
    """The members of all of them, each under a directory of its own."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for number, archive in enumerate(archives):
            with tarfile.open(fileobj=io.BytesIO(archive)) as source:
                for member in source:
                    content = source.extractfile(member) if member.isfile() else None
                    member.name = f"{number}/{member.name}"
                    tar.addfile(member, content)
    return out.getvalue()


def noise() -> bytes:
    """Files that are no part of any image, and a link to nowhere."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        add(tar, "repositories", b"{}")
        add(tar, "broken.json", b"{")
        add(tar, "empty", b"")
        add(tar, "unknown/layer.tar", layer(x="unknown"))
        link(tar, "dangling", "../../nowhere")
    return out.getvalue()


async def test_a_layer_that_begins_like_json_is_a_layer(tmp_path: Path) -> None:
    image = HandMade(layer(**{"{name": "odd"}), Cmd=["/x"])
    assert image.layers[0].startswith(b"{")
    document = document_of(await docker_bundle(tmp_path, by_key(image, image)))
    assert list(document.layers) == [digest_bytes(image.layers[0])]


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (b"", "no image of identity"),
        (b"x" * 10_240, "archive cannot be read"),
        (saved(two_images()[1]), "no image of identity"),
        (saved(*two_images())[:25_000], "cannot be read|no image|no layer"),
    ],
)
async def test_an_archive_that_lacks_something_makes_no_bundle(archive: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=reason):
        await docker_bundle(tmp_path, archive=archive or saved(HandMade(layer(a="b"))))
    assert names(tmp_path) == ["runs"]


async def test_only_what_was_sealed_is_packed(tmp_path: Path) -> None:
    agent, other = two_images()
    run = docker_run(tmp_path, by_key(agent, other))
    with pytest.raises(BundleError, match=r"images\.candidate: the image is not what was sealed"):
        await write_bundle(run, TRIAL, tmp_path / "x.arci", images=FakeImages(by_key(other, other)), key=KEY)
    with pytest.raises(UsageError, match="bundled with its images"):
        await write_bundle(run, TRIAL, tmp_path / "x.arci", key=KEY)


async def test_images_by_reference_carry_no_layer(tmp_path: Path) -> None:
    agent, other = two_images()
    run, out = docker_run(tmp_path, by_key(agent, other)), tmp_path / "x.arci"
    source = FakeImages({**by_key(agent, other), "runtime": other})
    with pytest.raises(UsageError, match="no registry has it"):
        await write_bundle(run, TRIAL, out, images=source, embed=False, key=KEY)
    source.references = ("registry.example/agent@sha256:" + "0" * 64,)
    document = await write_bundle(run, TRIAL, out, images=source, embed=False, key=KEY)
    assert (document.layers, set(document.images)) == ({}, {"candidate", "boundary", "grader"})
    with read_bundle(out) as found:
        assert found.images["grader"].entry.references == source.references
        assert [image.config for image in found.images.values()] == [None] * 3


def damaged(**changes: Any) -> Any:
    return lambda images: {key: {**image, **changes} for key, image in images.items()}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (damaged(layers=[]), "names other layers than bundle.json"),
        (damaged(config=None), "neither embedded nor referenced"),
        (damaged(config=None, layers=[], references=["x@sha256:0"]), "layers and configurations are not those"),
        (damaged(config="0" * 64), "is missing"),
        (damaged(identity={}), "identity is not what the manifest sealed"),
        (lambda images: {"candidate": images["candidate"]}, "its images are not those of the trial"),
        (lambda images: {**images, "baseline": images["candidate"]}, "its images are not those of the trial"),
        (lambda images: {**images, "grader": images["candidate"]}, "identity is not what the manifest sealed"),
        (lambda images: {**images, "runtime": {**images["grader"], "identity": {}}}, "identity is incomplete"),
        (
            lambda images: {**images, "runtime": {**images["grader"], "identity": images["candidate"]["identity"]}},
            "configuration is not that of the identity",
        ),
        (
            lambda images: {
                **images,
                "grader": {**images["grader"], "config": None, "layers": [], "references": ["x"]},
            },
            "some of its images are embedded and others referenced",
        ),
    ],
)
async def test_images_that_are_not_the_trials_are_refused(change: Any, reason: str, tmp_path: Path) -> None:
    bundle = await docker_bundle(tmp_path)
    said = json.loads(members_of(bundle)["bundle.json"])["images"]
    forge(bundle, images=change(said))
    with pytest.raises(BundleError, match=reason), read_bundle(bundle):
        pass


async def test_a_corrupted_layer_is_refused_even_with_all_digests_forged(tmp_path: Path) -> None:
    bundle = await docker_bundle(tmp_path)
    name = next(n for n in members_of(bundle) if n.startswith("images/layers/"))

    def swap(data: bytes) -> str:
        forge(bundle, lambda members: members.update({name: data}))
        with pytest.raises(BundleError) as caught, read_bundle(bundle):
            pass
        return caught.value.message

    size = json.loads(members_of(bundle)["bundle.json"])["layers"][name[14:78]]["bytes"]
    assert "unpacks to another layer than its name says" in swap(zstandard.compress(bytes(size)))
    assert f"unpacks to more than the {size} bytes" in swap(zstandard.compress(bytes(size + 1)))
    assert f"unpacks to {size - 1} bytes; it says {size}" in swap(zstandard.compress(bytes(size - 1)))
    assert "cannot be unpacked" in swap(b"not zstd at all")
    assert "unpacks to 0 bytes" in swap(b"")
    window = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    greedy = zstandard.ZstdCompressor(compression_params=window).compressobj()
    assert "too much memory" in swap(greedy.compress(bytes(size)) + greedy.flush())


async def test_a_bomb_is_refused_by_ratio_and_by_total_before_it_unpacks(tmp_path: Path) -> None:
    bundle = await docker_bundle(tmp_path)
    said = json.loads(members_of(bundle)["bundle.json"])["layers"]
    for size, reason in ((1 << 35, "are allowed"), (1 << 37, "its layers unpack to")):
        forge(bundle, layers={name: {"bytes": size} for name in said})
        with pytest.raises(BundleError, match=reason), read_bundle(bundle):
            pass


async def test_a_writer_stops_at_the_bounds_too(tmp_path: Path) -> None:
    run, source = docker_run(tmp_path, by_key(*two_images())), FakeImages(by_key(*two_images()))
    tight = smaller(DEFAULT_BOUNDS, unpacked_bytes=15_000)
    with pytest.raises(BundleError, match="to pack"):
        await write_bundle(run, TRIAL, tmp_path / "x.arci", images=source, key=KEY, bounds=tight)
    assert names(tmp_path) == ["runs"]


def test_what_is_loaded_has_the_same_identity_and_none_of_the_rest() -> None:
    """Health checks, triggers, labels and history are not what makes an image that image."""
    image = HandMade(layer(a="b"), Cmd=["/x"], User="7", Volumes={"/data": {}}, Labels={"dev.arci.run": "1"})
    image.document["config"]["OnBuild"] = ["RUN /pwned"]
    image.document["config"]["Healthcheck"] = {"Test": ["CMD", "/pwned"], "Interval": 1_000_000}
    image.document["container_config"] = {"Cmd": ["/pwned"]}
    reduced = loadable(parse_config(image.config))
    assert parse_config(reduced).identity == image.identity
    assert b"pwned" not in reduced
    assert set(json.loads(reduced)) == {"architecture", "config", "created", "os", "rootfs"}
    assert set(json.loads(reduced)["config"]["Labels"]) == {"dev.arci.kind", "dev.arci.identity"}


@pytest.mark.parametrize(
    "change",
    [
        {"config": {"Cmd": "/bin/sh"}},
        {"config": {"Env": [7]}},
        {"config": {"Volumes": {"/../etc": {}}}},
        {"config": {"Volumes": {"data": {}}}},
        {"config": {"Volumes": {"/a/../b": {}}}},
        {"config": {"User": 0}},
        {"config": []},
        {"rootfs": {"type": "layers", "diff_ids": ["sha256:short"]}},
        {"rootfs": {"type": "layers", "diff_ids": ["sha256:" + "0" * 64 + "\n"]}},
        {"rootfs": {"type": "layers", "diff_ids": ["sha256:" + "0" * 64] * 257}},
        {"rootfs": None},
        {"os": None},
    ],
)
def test_a_configuration_of_other_types_is_refused(change: dict[str, Any]) -> None:
    image = HandMade(layer(a="b"))
    with pytest.raises(BundleError, match="an image's configuration"):
        parse_config(json.dumps({**image.document, **change}).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"[" * 100_000, b'{"os":1,"os":2}', b'{"os":NaN}', b"\xff"])
def test_a_configuration_that_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(BundleError, match="an image's configuration"):
        parse_config(data)


@settings(deadline=None)
@given(pieces=st.lists(st.binary(max_size=3000), max_size=6), cut=st.integers(1, 700))
def test_what_is_packed_unpacks_in_pieces_of_any_size(
    pieces: list[bytes], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    packed = pack(pieces, tmp_path_factory.mktemp("pack") / "x", most_bytes=1 << 20)
    data, whole = packed.path.read_bytes(), b"".join(pieces)
    cuts = (data[at : at + cut] for at in range(0, len(data), cut))
    assert b"".join(unpacked("x", cuts, len(data), packed.bytes, Bounds())) == whole
    assert (packed.sha256, packed.bytes) == (digest_bytes(whole), len(whole))
