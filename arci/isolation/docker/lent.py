"""A runtime for one replay on an engine that has none and cannot make one: the bundle's image, our own code in it.

The image stays without a name of ours, so no later run takes it for one that was made here. The volume belongs to a run
of its own, whose holder lives as long as the replay: a sweep takes it once the replay was killed, and never before.
"""

from __future__ import annotations

import secrets
import tarfile
import uuid
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import anyio

from arci.errors import EngineError
from arci.isolation.docker.base_image import find_image
from arci.isolation.docker.containers import Containers
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.payload import runtime_context, runtime_sha256
from arci.isolation.docker.recipes import KIND
from arci.isolation.docker.relay import expect_line
from arci.isolation.docker.runtime import Runtime, runtime_tag
from arci.isolation.docker.spec import HOLDER_USER, INIT, RUNTIME_DIR, ImageFacts, Mount, container_config
from arci.isolation.groups import task_group
from arci.model.manifest import Isolation

__all__ = ["LENT", "forget_bytecode", "lent_runtime"]

LENT = "arci-runtime-lent-"
"""What the name of every such volume begins with."""
_CALL_S = 60.0


@asynccontextmanager
async def lent_runtime(engine: Engine, image_id: str | None, limits: Isolation) -> AsyncIterator[Runtime | None]:
    """None where the engine has ARCI's own runtime, or there is no image to lend; else one on a volume that goes with
    the context. `limits`: of the container that holds it."""
    if image_id is None or await find_image(engine, runtime_tag()) is not None:
        yield None
        return
    volume, owned = f"{LENT}{secrets.token_hex(8)}", labels(str(uuid.uuid4()), "runtime", HOLDER)
    version = await engine.call("ask the engine's version", engine.api.version, timeout_s=_CALL_S)
    payload = _payload(runtime_context(version["Arch"]))
    try:
        await engine.call("fill a lent runtime", _fill, engine.api, image_id, volume, payload, owned, timeout_s=_CALL_S)
        async with _held(engine, image_id, volume, owned, limits):
            yield Runtime(image_id, volume, runtime_sha256())
    finally:
        with anyio.CancelScope(shield=True):
            await forget_bytecode(engine, (), lent=volume)
            await _remove_volume(engine, volume)


@asynccontextmanager
async def _held(
    engine: Engine, image_id: str, volume: str, owned: Mapping[str, str], limits: Isolation
) -> AsyncIterator[None]:
    """A holder of the volume: it ends when this process does, however that ends."""
    image = await engine.call("inspect an image", engine.api.inspect_image, image_id, timeout_s=_CALL_S)
    config = container_config(
        ImageFacts.from_inspect(image),
        [INIT, "hold"],
        env={},
        labels=owned,
        network="none",
        limits=limits,
        files=None,
        mounts=[Mount(volume, RUNTIME_DIR)],
        user=HOLDER_USER,
    )
    async with task_group() as tasks:
        containers = Containers(engine, tasks)
        try:
            await expect_line(await containers.launch(config), b"ready", "hold a lent runtime")
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await containers.remove_all()


async def forget_bytecode(engine: Engine, image_ids: Collection[str], *, lent: str | None = None) -> None:
    """Remove what was compiled for these images, or for that lent volume."""
    ends = tuple(f"-{image_id.partition(':')[2][:12]}" for image_id in image_ids)
    begins = None if lent is None else f"arci-bytecode-{lent.removeprefix('arci-runtime-')}-"
    found = await engine.call(
        "list volumes", engine.api.volumes, filters={"label": f"{KIND}=bytecode"}, timeout_s=_CALL_S
    )
    for row in found.get("Volumes") or ():
        name = str(row["Name"])
        if (ends and name.endswith(ends)) or (begins is not None and name.startswith(begins)):
            await _remove_volume(engine, name)


def _payload(context: bytes) -> bytes:
    """What the build context has for the image's /opt/arci, relative to it."""
    out = BytesIO()
    with tarfile.open(fileobj=BytesIO(context)) as given, tarfile.open(fileobj=out, mode="w") as kept:
        for member in given:
            if member.name.startswith("arci/") and (content := given.extractfile(member)) is not None:
                member.name = member.name.removeprefix("arci/")
                kept.addfile(member, content)
    return out.getvalue()


def _fill(api: Any, image_id: str, volume: str, payload: bytes, owned: Mapping[str, str]) -> None:
    """Nothing of the image is copied, and nothing of it is started: the engine itself unpacks what it is given."""
    mount = {"Type": "volume", "Source": volume, "Target": RUNTIME_DIR, "VolumeOptions": {"NoCopy": True}}
    config = {
        "Image": image_id,
        "Entrypoint": ["/never/started"],
        "Labels": dict(owned),
        "HostConfig": {"NetworkMode": "none", "Mounts": [mount]},
    }
    api.create_volume(volume, labels={KIND: "lent", **owned})
    container = api.create_container_from_config(config)["Id"]
    try:
        if not api.put_archive(container, RUNTIME_DIR, payload):
            raise EngineError("fill a lent runtime", "the engine did not take the archive.")
    finally:
        api.remove_container(container, v=False, force=True)


async def _remove_volume(engine: Engine, volume: str) -> None:
    try:
        await engine.call("remove a volume", engine.api.remove_volume, volume, timeout_s=_CALL_S, force=True)
    except EngineError as error:
        if error.status not in (404, 409):
            raise
