"""What ARCI itself runs inside containers: an image, and one read-only volume filled from it, keyed by content."""

from __future__ import annotations

import functools
import secrets
import tarfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import docker

import arci
from arci.errors import EngineError
from arci.isolation.docker.base_image import Notice, base_tag, ensure_base, find_image
from arci.isolation.docker.build import BuildRequest, build
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.recipes import KIND, recipe_bytes
from arci.model.canonical import digest, digest_bytes

__all__ = ["Runtime", "ensure_runtime", "runtime_sha256"]

_ROOT = "/opt/arci"
_CALL_S = 60.0
_FILL_S = 180
_MODULES = ("__init__.py", "agent.py", "errors.py", "model/__init__.py", "model/canonical.py")
_PACKAGES = ("boundary", "faults", "guest", "wire")
_ARCHITECTURES = {"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Runtime:
    """`image_id` is the engine's own. `volume` is mounted read-only at /opt/arci in every guest but a holder."""

    image_id: str
    volume: str
    runtime_sha256: str


@functools.cache
def runtime_sha256() -> str:
    """Digest of everything that ARCI runs inside guests: Python, arci-init for every architecture, recipe."""
    content = {**_library(), **_natives()}
    content |= {name: recipe_bytes(name) for name in ("runtime.Dockerfile", "seal.py")}
    return digest({name: digest_bytes(data) for name, data in content.items()})


async def ensure_runtime(engine: Engine, notice: Notice = lambda text: None) -> Runtime:
    """The image and its volume, made if they are missing. The second call costs two inspects.

    A volume counts only once its content was verified from inside it: that is when the image gets the tag that names
    it. What was left half-filled, by a crash or a full disk, has no such tag and is never used.
    """
    tag = runtime_tag()
    image = await find_image(engine, tag)
    if image is None:
        await _build_image(engine, tag, notice)
        image = await find_image(engine, tag)
        if image is None:
            raise EngineError("make the runtime image", f"{tag} is not on the engine after its build.")
    volume = await _published(engine, tag, image)
    if volume is None:
        notice("Filling the runtime volume.")
        volume = await _fill(engine, tag, image["Id"])
    return Runtime(image["Id"], volume, runtime_sha256())


def runtime_tag() -> str:
    """The image's name on an engine: what runs inside, and the recipe of what it runs on."""
    return f"arci/runtime:{digest([runtime_sha256(), base_tag()])[:12]}"


def volume_of(published: str) -> str:
    """`arci/runtime:<key>-<suffix>` -> the volume that this tag declares whole. Pure."""
    return f"arci-runtime-{published.partition(':')[2]}"


async def _published(engine: Engine, tag: str, image: Mapping[str, Any]) -> str | None:
    for name in sorted(image.get("RepoTags") or ()):
        if not name.removeprefix("docker.io/").startswith(f"{tag}-"):
            continue
        volume = volume_of(name)
        try:
            found = await engine.call(
                "inspect the runtime volume", engine.api.inspect_volume, volume, timeout_s=_CALL_S
            )
        except EngineError as error:
            if error.status != 404:
                raise
            continue
        # An engine makes an empty volume of any name that a container asks for; ours carries its label.
        if (found.get("Labels") or {}).get(KIND) == "runtime":
            return volume
    return None


async def _fill(engine: Engine, tag: str, image_id: str) -> str:
    published = f"{tag}-{secrets.token_hex(4)}"
    volume = volume_of(published)
    await engine.call("fill the runtime volume", _fill_and_check, engine.api, image_id, volume, timeout_s=_FILL_S)
    repository, _, name = published.partition(":")
    await engine.call("tag the runtime image", engine.api.tag, image_id, repository, name, timeout_s=_CALL_S)
    return volume


def _fill_and_check(api: docker.APIClient, image_id: str, volume: str) -> None:
    """The engine copies the image's /opt/arci into the empty volume; a container of ours then checks it there."""
    api.create_volume(volume, labels={KIND: "runtime"})
    try:
        _check(api, image_id, volume)
    except BaseException:
        api.remove_volume(volume, force=True)
        raise


def _check(api: docker.APIClient, image_id: str, volume: str) -> None:
    create: Any = api.create_container_from_config  # untyped in the library's stubs
    container = create(_checker(image_id, volume))["Id"]
    try:
        api.start(container)
        code = api.wait(container, timeout=_FILL_S)["StatusCode"]
        said = api.logs(container)
    finally:
        api.remove_container(container, v=True, force=True)
    if code != 0 or not said.startswith(b"whole "):
        raise docker.errors.DockerException(f"its check ended with {code} and said {said[-500:]!r}")


def _checker(image_id: str, volume: str) -> dict[str, Any]:
    # Labelled like a holder: alive while it runs, and swept with its run if we die meanwhile.
    owned = labels(str(uuid.uuid4()), "runtime", HOLDER)
    return {
        "Image": image_id,
        "Entrypoint": ["python3", "-I", "-S", f"{_ROOT}/seal.py"],
        "Cmd": ["check"],
        "Labels": owned,
        "HostConfig": {
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "NetworkMode": "none",
            "LogConfig": {"Type": "json-file"},
            "Mounts": [{"Type": "volume", "Source": volume, "Target": _ROOT, "ReadOnly": False}],
        },
    }


async def _build_image(engine: Engine, tag: str, notice: Notice) -> None:
    base = await ensure_base(engine, notice)
    notice("Building the runtime image.")
    version = await engine.call("ask the engine's version", engine.api.version, timeout_s=_CALL_S)
    context = runtime_context(version["Arch"])
    await build(engine, BytesIO(context), BuildRequest(tag, {KIND: "runtime"}, {"BASE": base}))


def runtime_context(architecture: str) -> bytes:
    """The build context as a tar: the same bytes for the same content. EngineError without an arci-init for it."""
    native = f"arci-init-{_ARCHITECTURES.get(architecture, architecture)}"
    natives = _natives()
    if native not in natives:
        raise EngineError(
            "make the runtime image",
            f"this installation has no {native} for an engine of architecture {architecture!r}.",
            hint="pip install --force-reinstall arci, or `make setup` in a checkout",
        )
    files = {"Dockerfile": recipe_bytes("runtime.Dockerfile"), "arci/seal.py": recipe_bytes("seal.py")}
    files |= {f"arci/lib/{name}": data for name, data in _library().items()}
    files["arci/bin/arci-init"] = natives[native]
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755 if name.startswith("arci/bin/") else 0o644
            tar.addfile(member, BytesIO(data))
    return out.getvalue()


def _library() -> dict[str, bytes]:
    """`arci/...` -> content of every module that a guest may import."""
    package = Path(arci.__file__).parent
    paths: Iterator[Path] = (package / name for name in _MODULES)
    found = [*paths, *(p for name in _PACKAGES for p in sorted((package / name).rglob("*.py")))]
    return {f"arci/{path.relative_to(package).as_posix()}": path.read_bytes() for path in found}


def _natives() -> dict[str, bytes]:
    package = Path(arci.__file__).parent
    return {path.name: path.read_bytes() for path in sorted((package / "_native").glob("arci-init-*"))}
