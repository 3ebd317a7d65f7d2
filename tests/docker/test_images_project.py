"""Project images on a real engine: built once per content, identified alike after save and load, refused clearly."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arci.errors import SpecError, UsageError
from arci.isolation.docker.base_image import find_image
from arci.isolation.docker.engine import Engine, connect
from arci.isolation.docker.images import ResolvedImage, resolve_images
from arci.isolation.docker.images_archive import archive_identities, load_images, save_images
from arci.isolation.docker.images_store import doomed_images, list_images, prune_images
from arci.isolation.docker.recipes import KIND
from arci.isolation.docker.runtime import ensure_runtime, runtime_tag
from arci.manifest.images import ImageRequest

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]  # images are built

SCRATCH = "FROM scratch\nCOPY . /\n"


@pytest.fixture
async def made(engine: Engine) -> AsyncIterator[list[str]]:
    """Names of images that the test leaves to be removed."""
    names: list[str] = []
    yield names
    for name in names:
        if await find_image(engine, name) is not None:
            engine.api.remove_image(name, force=True)


async def resolve(engine: Engine, made: list[str], request: ImageRequest, **more: Any) -> ResolvedImage:
    found = await resolve_images(engine, {"it": request}, **more)
    made.append(found["it"].reference)
    return found["it"]


def write(directory: Path, **files: str) -> ImageRequest:
    for name, content in files.items():
        (directory / name.replace("_py", ".py")).write_text(content)
    return ImageRequest("build", context=directory)


async def test_the_same_content_is_built_once_and_a_changed_one_again(
    engine: Engine, made: list[str], tmp_path: Path
) -> None:
    said: list[str] = []
    request = write(tmp_path, agent_py=f"x = 1  # {tmp_path}\n")  # not built before
    first = await resolve(engine, made, request, notice=said.append)
    assert await resolve(engine, made, request, notice=said.append) == first
    write(tmp_path, agent_py=f"x = 2  # {tmp_path}\n")
    second = await resolve(engine, made, request, notice=said.append)
    assert second.id != first.id
    assert second.identity["layers_sha256"] != first.identity["layers_sha256"]
    assert len([line for line in said if line.startswith("Building arci/project:")]) == 2


async def test_a_generated_image_runs_as_nobody_in_app(engine: Engine, made: list[str], tmp_path: Path) -> None:
    image = await resolve(engine, made, write(tmp_path, agent_py="x = 1\n", broken_py="def ("))
    assert (image.user, image.workdir, image.volumes) == ("65534:65534", "/app", ())


async def test_an_identity_survives_save_and_load(engine: Engine, made: list[str], tmp_path: Path) -> None:
    (tmp_path / "context").mkdir()
    image = await resolve(engine, made, write(tmp_path / "context", Dockerfile=SCRATCH, data=str(tmp_path)))
    archive = tmp_path / "images.tar"
    assert await save_images(engine, [image.reference], archive) == archive.stat().st_size
    assert archive_identities(archive) == {image.reference: image.identity}
    engine.api.remove_image(image.reference)
    assert await find_image(engine, image.reference) is None
    assert await load_images(engine, archive) == {image.reference: image.identity}
    again = await resolve(engine, made, ImageRequest("reference", reference=image.reference))
    assert again.identity == image.identity
    assert replace(again, id=image.id) == image


async def test_loading_does_not_move_a_name_unasked(engine: Engine, made: list[str], tmp_path: Path) -> None:
    one, two, archive = tmp_path / "one", tmp_path / "two", tmp_path / "images.tar"
    one.mkdir()
    two.mkdir()
    first = await resolve(engine, made, write(one, Dockerfile=SCRATCH, data=f"1 {tmp_path}"))
    second = await resolve(engine, made, write(two, Dockerfile=SCRATCH, data=f"2 {tmp_path}"))
    engine.api.tag(first.id, "arci-test", "moving")
    made.append("arci-test:moving")
    await save_images(engine, ["arci-test:moving"], archive)
    engine.api.tag(second.id, "arci-test", "moving")
    with pytest.raises(UsageError, match="arci-test:moving stands for another image"):
        await load_images(engine, archive)
    assert (await resolve(engine, made, ImageRequest("reference", reference="arci-test:moving"))).id == second.id
    await load_images(engine, archive, replace=True)
    assert (await resolve(engine, made, ImageRequest("reference", reference="arci-test:moving"))).id == first.id


@pytest.mark.parametrize("content", [b"", b"not a tar", b"\0" * 10240])
async def test_a_file_that_is_no_archive_is_refused(engine: Engine, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.tar: is not an image archive"):
        await load_images(engine, tmp_path / "x.tar")


async def test_saving_an_image_that_is_not_there_writes_nothing(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no-such-image"):
        await save_images(engine, ["no-such-image:1"], tmp_path / "x.tar")
    assert listing(tmp_path) == []


async def test_a_failing_step_is_shown_with_its_output(engine: Engine, tmp_path: Path) -> None:
    await ensure_runtime(engine)
    dockerfile = "ARG ARCI_BASE\nFROM ${ARCI_BASE}\nRUN echo the-reason && exit 9\n"
    with pytest.raises(SpecError) as caught:
        await resolve_images(engine, {"baseline": write(tmp_path, Dockerfile=dockerfile)}, where="arci.yaml")
    text = str(caught.value)
    assert text.startswith("arci.yaml: baseline: cannot be built from ")
    assert "failed at Step 3/" in text
    assert ": RUN echo the-reason && exit 9: " in text
    assert "the-reason" in text


async def test_every_image_that_cannot_be_had_is_named(engine: Engine) -> None:
    requests = {
        "baseline": ImageRequest("reference", reference="127.0.0.1:1/no/such:1"),
        "candidate": ImageRequest("build", context=Path("/no/such/directory")),
    }
    with pytest.raises(SpecError) as caught:
        await resolve_images(engine, requests)
    assert [p.path for p in caught.value.problems] == ["baseline", "candidate"]


def listing(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def foreign_archive(path: Path, name: str, architecture: str) -> None:
    """An image of one empty layer for another architecture, as `docker save` writes it."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w"):
        pass
    config = {
        "os": "linux",
        "architecture": architecture,
        "config": {"Cmd": ["/agent"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer.getvalue()).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]
    documents = {"config.json": config, "manifest.json": manifest}
    files = {"layer.tar": layer.getvalue(), **{name: json.dumps(value).encode() for name, value in documents.items()}}
    with tarfile.open(path, "w") as tar:
        for member_name, data in files.items():
            member = tarfile.TarInfo(member_name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


async def test_an_image_for_another_platform_is_refused(engine: Engine, made: list[str], tmp_path: Path) -> None:
    here = (await resolve(engine, made, write(tmp_path, Dockerfile=SCRATCH))).identity["platform"]
    other = "arm64" if here == "linux/amd64" else "amd64"
    foreign_archive(tmp_path / "foreign.tar", "arci-test:foreign", other)
    made.append("arci-test:foreign")
    await load_images(engine, tmp_path / "foreign.tar")
    request = ImageRequest("reference", reference="arci-test:foreign")
    with pytest.raises(SpecError, match=f"is for linux/{other}; {here} is what will run it"):
        await resolve_images(engine, {"baseline": request})
    found = await resolve(engine, made, request, platform=f"linux/{other}")
    assert found.identity["platform"] == f"linux/{other}"


async def test_the_ca_bundle_of_a_build_is_not_in_the_image(engine: Engine, made: list[str], tmp_path: Path) -> None:
    (tmp_path / "context").mkdir()
    bundle = tmp_path / "ca.pem"
    bundle.write_text("-----BEGIN CERTIFICATE-----\nMARKER-OF-THE-BUNDLE\n-----END CERTIFICATE-----\n")
    # Nothing is downloaded: the requirement is a directory of the project's own without dependencies.
    package = tmp_path / "context" / "vendored"
    package.mkdir()
    (package / "one.py").write_text("")
    request = write(tmp_path / "context", requirements="", agent_py="x = 1\n")
    (tmp_path / "context" / "requirements").rename(tmp_path / "context" / "requirements.txt")
    image = await resolve(engine, made, request, build_ca=bundle)
    await save_images(engine, [image.reference], tmp_path / "images.tar")
    assert b"MARKER-OF-THE-BUNDLE" not in (tmp_path / "images.tar").read_bytes()
    # And it is the same image, by content, as one built where no bundle is needed.
    assert (await resolve(engine, made, request)).reference == image.reference


async def test_a_users_dockerfile_sees_the_ca_bundle_by_its_argument(
    engine: Engine, made: list[str], tmp_path: Path
) -> None:
    await ensure_runtime(engine)
    bundle = tmp_path / "ca.pem"
    bundle.write_text("the bundle")
    (tmp_path / "context").mkdir()
    dockerfile = (
        "ARG ARCI_BASE\nFROM ${ARCI_BASE}\nARG ARCI_CA_BUNDLE\n"
        "COPY ${ARCI_CA_BUNDLE} /tmp/ca\nRUN grep -q 'the bundle' /tmp/ca\n"
    )
    await resolve(engine, made, write(tmp_path / "context", Dockerfile=dockerfile), build_ca=bundle)


async def test_a_credential_helper_that_is_absent_breaks_no_build_from_local_images(
    made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker" / "config.json").write_text(json.dumps({"credsStore": "nonexistent"}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    engine = await connect()
    (tmp_path / "context").mkdir()
    try:
        await resolve(engine, made, write(tmp_path / "context", Dockerfile=SCRATCH, data=str(tmp_path)))
        await ensure_runtime(engine)
    finally:
        engine.close()


async def test_prune_leaves_what_this_version_runs_on_and_what_others_named(
    engine: Engine, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = await ensure_runtime(engine)
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    doomed = await resolve(engine, made, write(one, Dockerfile=SCRATCH, data=f"1 {tmp_path}"))
    kept = await resolve(engine, made, write(two, Dockerfile=SCRATCH, data=f"2 {tmp_path}"))
    engine.api.tag(kept.id, "somebody/elses", "image")
    made.append("somebody/elses:image")
    rows = [row for row in await list_images(engine) if row.id in (doomed.id, kept.id, runtime.image_id)]
    assert [row.id for row in doomed_images(rows, (runtime_tag(),))] == [doomed.id]

    async def only_these(engine: Engine) -> tuple[object, ...]:
        return tuple(rows)

    # Other images of this machine's user are not this test's to remove.
    monkeypatch.setattr("arci.isolation.docker.images_store.list_images", only_these)
    monkeypatch.setattr("arci.isolation.docker.images_store.doomed_volumes", lambda names, kept: [])
    gone = await prune_images(engine)
    assert gone.images == (doomed.reference,)
    assert await find_image(engine, doomed.reference) is None
    assert await find_image(engine, kept.reference) is not None


async def test_what_arci_made_is_listed_by_its_label(engine: Engine, made: list[str], tmp_path: Path) -> None:
    image = await resolve(engine, made, write(tmp_path, Dockerfile=SCRATCH, data=str(tmp_path)))
    found = {row.id: row for row in await list_images(engine)}
    assert found[image.id].kind == "project"
    assert image.reference in found[image.id].tags
    gone = set()
    for image_id in found:
        if (inspect := await find_image(engine, image_id)) is None:
            gone.add(image_id)
        else:
            assert KIND in inspect["Config"]["Labels"]
    # Others on the same engine may have removed theirs meanwhile: those are listed no more either.
    assert image.id not in gone
    assert not gone & {row.id for row in await list_images(engine)}
