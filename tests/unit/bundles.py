"""Bundles for tests: of synthetic runs, of images made by hand, and forged ones whose list of members fits again.

bundle = await process_bundle(tmp_path)
forge(bundle, lambda members: members.update({"record.json": b"{}\n"}))
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from runs import make_run, manifest_document

from arci.bundle.document import BundleDocument
from arci.bundle.engine_images import SourceImage
from arci.bundle.image_config import parse_config
from arci.bundle.read import read_bundle
from arci.bundle.tar import write_members
from arci.bundle.trust import Key
from arci.bundle.write import write_bundle
from arci.manifest.identity import process_images
from arci.model.canonical import canonical, digest_bytes

__all__ = [
    "KEY",
    "TRIAL",
    "FakeImages",
    "HandMade",
    "docker_bundle",
    "docker_run",
    "forge",
    "members_of",
    "oci_archive",
    "process_bundle",
    "process_run",
    "rebuild",
    "saved",
    "two_images",
]

T = TypeVar("T")

KEY = Key(b"k" * 32)
TRIAL = "reserve-timeout:00001:candidate"


def process_run(tmp_path: Path, sources: Mapping[str, str] | None = None, **changes: Any) -> Path:
    """A run store whose sources lie in `tmp_path/project`: by default one tree with two files and a link."""
    project = tmp_path / "project"
    if not project.exists():
        (project / "agents").mkdir(parents=True)
        (project / "world.py").write_text("STOCK = 10\n")
        (project / "agents" / "run.py").write_text("#!/usr/bin/env python3\n")
        (project / "agents" / "run.py").chmod(0o755)
        (project / "agents" / "world.py").symlink_to("../world.py")
    sources = sources or {"baseline": ".", "candidate": ".", "project": "."}
    document = manifest_document(n_per_arm=2)
    arms = {name: {**arm, "source": sources[name]} for name, arm in document["arms"].items()}
    changes = {"volatile": {"root": str(project)}, "arms": arms, "project_source": sources["project"], **changes}
    images = process_images(project, dict(sources))
    return make_run(tmp_path / "runs", outcomes=_OUTCOMES, images=images, **changes)


async def process_bundle(tmp_path: Path, sources: Mapping[str, str] | None = None, **changes: Any) -> Path:
    """A bundle of one failed trial of `process_run`."""
    await write_bundle(process_run(tmp_path, sources, **changes), TRIAL, out := tmp_path / "failure.arci", key=KEY)
    return out


class HandMade:
    """An image: its layers' tars and its own configuration."""

    def __init__(self, *layers: bytes, architecture: str = "amd64", **config: Any) -> None:
        self.layers = layers
        diff_ids = [f"sha256:{digest_bytes(layer)}" for layer in layers]
        self.document: dict[str, Any] = {
            "architecture": architecture,
            "os": "linux",
            "config": {"Env": ["PATH=/bin"], "Healthcheck": {"Test": ["CMD", "touch", "/pwned"]}, **config},
            "history": [{"created_by": "COPY"} for _ in layers],
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        }

    @property
    def config(self) -> bytes:
        return json.dumps(self.document, indent=1).encode()

    @property
    def id(self) -> str:
        return f"sha256:{digest_bytes(self.config)}"

    @property
    def identity(self) -> dict[str, str]:
        return parse_config(self.config).identity


def layer(**files: str) -> bytes:
    """A layer's tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, text in files.items():
            add(tar, name, text.encode())
    return out.getvalue()


def two_images(**config: Any) -> tuple[HandMade, HandMade]:
    """The agent's and everybody else's, on a shared lowest layer."""
    base = layer(base="the same")
    return HandMade(base, layer(agent="x" * 5000), Cmd=["/agent"], **config), HandMade(base, Cmd=["python3"])


def saved(*images: HandMade) -> bytes:
    """As classic engines save: a directory per layer, shared layers as symbolic links, names."""
    out, seen = io.BytesIO(), dict[bytes, str]()
    with tarfile.open(fileobj=out, mode="w") as tar:
        index = []
        for number, image in enumerate(images):
            places = []
            for depth, content in enumerate(image.layers):
                place = f"{number}-{depth}/layer.tar"
                places.append(place)
                if content in seen:
                    link(tar, place, f"../{seen[content]}")
                else:
                    add(tar, place, content)
                    seen[content] = place
            add(tar, f"{image.id[7:]}.json", image.config)
            index.append({"Config": f"{image.id[7:]}.json", "RepoTags": ["somebody/elses:tag"], "Layers": places})
        add(tar, "manifest.json", json.dumps(index).encode())
    return out.getvalue()


def oci_archive(*images: HandMade) -> bytes:
    """As newer engines save: blobs by digest, layers compressed."""
    out, blobs = io.BytesIO(), dict[str, bytes]()
    for image in images:
        packed = [gzip.compress(content, mtime=0) for content in image.layers]
        manifest = {"layers": [{"digest": f"sha256:{digest_bytes(blob)}"} for blob in packed]}
        blobs |= {digest_bytes(blob): blob for blob in (*packed, image.config, json.dumps(manifest).encode())}
    with tarfile.open(fileobj=out, mode="w") as tar:
        add(tar, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        for name, blob in blobs.items():
            add(tar, f"blobs/sha256/{name}", blob)
    return out.getvalue()


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def link(tar: tarfile.TarFile, name: str, target: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    tar.addfile(member)


class FakeImages:
    """Where images come from, without an engine."""

    def __init__(self, images: Mapping[str, HandMade], archive: bytes | None = None) -> None:
        self._images = images
        self._archive = archive
        self.references: tuple[str, ...] = ()

    async def describe(self) -> dict[str, SourceImage]:
        return {key: SourceImage(image.id, image.identity, self.references) for key, image in self._images.items()}

    async def archive(self, ids: Sequence[str], take: Callable[[BinaryIO], T]) -> T:
        distinct = {image.id: image for image in self._images.values() if image.id in ids}
        return take(io.BytesIO(self._archive or saved(*distinct.values())))


def docker_run(tmp_path: Path, images: Mapping[str, HandMade], **changes: Any) -> Path:
    """A run store whose manifest names the images, `runtime` left out."""
    isolation = {**manifest_document()["isolation"], "backend": "docker", **changes.pop("isolation", {})}
    named = {key: image.identity for key, image in images.items() if key != "runtime"}
    return make_run(tmp_path / "runs", outcomes=_OUTCOMES, images=named, isolation=isolation, **changes)


def by_key(agent: HandMade, other: HandMade) -> dict[str, HandMade]:
    """Both arms run `agent`."""
    return {"baseline": agent, "candidate": agent, "boundary": other, "grader": other}


async def docker_bundle(
    tmp_path: Path,
    images: Mapping[str, HandMade] | None = None,
    *,
    archive: bytes | None = None,
    runtime: HandMade | None = None,
    **changes: Any,
) -> Path:
    """A bundle of one failed trial on the images, by default those of `two_images`."""
    images = images or by_key(*two_images())
    run = docker_run(tmp_path, images, **changes)
    ran = {key: image for key, image in images.items() if key != "baseline"}
    source = FakeImages(ran if runtime is None else {**ran, "runtime": runtime}, archive)
    await write_bundle(run, TRIAL, out := tmp_path / "failure.arci", images=source, key=KEY)
    return out


def members_of(bundle: Path) -> dict[str, bytes]:
    """Name -> content of every member, `bundle.json` first."""
    with tarfile.open(bundle) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]  # all files


def rebuild(bundle: Path, members: Mapping[str, bytes]) -> None:
    """Replace the file by one of these members, in this order."""
    with bundle.open("wb") as out:
        write_members(out, ((name, len(data), (data,)) for name, data in members.items()))


def forge(
    bundle: Path,
    edit: Callable[[dict[str, bytes]], object] = lambda members: None,
    **document: Any,
) -> None:
    """Edit the members, and keys of `bundle.json`, and make its list and a signature fit again, as a forger would."""
    members = members_of(bundle)
    said = json.loads(members.pop("bundle.json"))
    edit(members)
    entries = [
        {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        for name, data in sorted(members.items())
    ]
    said = {**said, "members": entries, **document}
    data = canonical(said) + b"\n"
    rebuild(bundle, {"bundle.json": data, **dict(sorted(members.items()))})


def document_of(bundle: Path) -> BundleDocument:
    """What a bundle says of itself, which must hold."""
    with read_bundle(bundle) as found:
        return found.document


def smaller(bounds: Any, **changes: int) -> Any:
    """Bounds with some of them tightened."""
    return replace(bounds, **changes)


_OUTCOMES = {"baseline": "PP", "candidate": "PF"}
