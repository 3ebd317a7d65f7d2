"""Compiled bytecode of ARCI's own guests for interpreters that the runtime volume was not compiled for.

A volume per image, written once by that image's own interpreter and read by that image alone: an untrusted interpreter
must never write what a grader of another image will load. Losing it costs time, never correctness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import anyio

from arci.errors import EngineError
from arci.isolation.base import RunPlan
from arci.isolation.docker.containers import CALL_S, Containers
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.recipes import KIND
from arci.isolation.docker.spec import BYTECODE_DIR, RUNTIME_DIR, ImageFacts, Mount, container_config

__all__ = ["BytecodeVolumes", "ensure_bytecode", "is_built_on"]

BytecodeVolumes = Mapping[str, str]
"""Image id -> volume."""

_COMPILE_S = 120.0
_USER = "0:0"
"""A new volume is root's; nothing but the library is in reach."""
_SOURCE = f"""
import compileall, py_compile, sys
sys.pycache_prefix = {BYTECODE_DIR!r}
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
if not compileall.compile_dir({RUNTIME_DIR + "/lib"!r}, quiet=2, invalidation_mode=mode):
    sys.exit(1)
sys.path.append({RUNTIME_DIR + "/lib"!r})
from arci.guest.packing import write_packs
write_packs({BYTECODE_DIR!r})
"""


async def ensure_bytecode(
    containers: Containers,
    images: Iterable[ImageFacts],
    runtime: ImageFacts,
    runtime_volume: str,
    run: RunPlan,
) -> BytecodeVolumes:
    """The volumes of those `images` that are not built on the runtime's own base, made where they are missing."""
    foreign = {image.id: image for image in images if not is_built_on(image, runtime)}
    found: dict[str, str] = {}
    for image in foreign.values():
        # The runtime volume's name carries the digest of the library.
        volume = f"arci-bytecode-{runtime_volume.removeprefix('arci-runtime-')}-{image.id.partition(':')[2][:12]}"
        if await _is_there(containers.engine, volume) or await _compile(containers, image, volume, runtime_volume, run):
            found[image.id] = volume
    return found


def is_built_on(image: ImageFacts, runtime: ImageFacts) -> bool:
    """True if the image has the layers of the runtime image's base below its own. Pure.

    The runtime adds its last two layers itself: the library, and its bytecode.
    """
    base = runtime.layers[:-2]
    return bool(base) and image.layers[: len(base)] == base


async def _is_there(engine: Engine, volume: str) -> bool:
    try:
        found = await engine.call("inspect a volume", engine.api.inspect_volume, volume, timeout_s=CALL_S)
    except EngineError as error:
        if error.status != 404:
            raise
        return False
    return (found.get("Labels") or {}).get(KIND) == "bytecode"


async def _compile(containers: Containers, image: ImageFacts, volume: str, runtime_volume: str, run: RunPlan) -> bool:
    """False where the image has no Python to compile with (it may still run a command), and the volume is gone again.

    A half-filled volume does no harm: files in it are whole, and what is missing is compiled in memory.
    """
    engine = containers.engine
    await engine.call("create a volume", _create_volume, engine.api, volume, timeout_s=CALL_S)
    config = container_config(
        image,
        ["python3", "-I", "-S", "-c", _SOURCE],
        env={},
        labels=labels(run.run_id, run.manifest.experiment_id, HOLDER),  # alive while it runs, as a holder is
        network="none",
        limits=replace(run.manifest.isolation, read_only=True),
        files=None,
        mounts=[Mount(runtime_volume, RUNTIME_DIR), Mount(volume, BYTECODE_DIR, read_only=False)],
        user=_USER,
    )
    code: int | None = None
    try:
        guest = await containers.launch(config)
        with anyio.move_on_after(_COMPILE_S):
            end = await guest.wait(_COMPILE_S)
            code = end.code if end is not None else None
        await guest.stop(0.0)
        await containers.remove((guest,), ())
    except EngineError:
        code = None  # no python3 in it: whether that matters is for preflight to find out
    if code == 0:
        return True
    await engine.call("remove a volume", engine.api.remove_volume, volume, timeout_s=CALL_S, force=True)
    return False


def _create_volume(api: Any, name: str) -> Any:
    return api.create_volume(name, labels={KIND: "bytecode"})
