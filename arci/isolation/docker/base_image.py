"""The runtime base: a pinned registry image or, where no registry answers, one bootstrapped from Debian packages."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import anyio

from arci.errors import EngineError
from arci.isolation.docker.build import BuildRequest, build
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.pull import pull
from arci.isolation.docker.recipes import KIND, recipe_bytes
from arci.model.canonical import digest

__all__ = ["base_tag", "ensure_base", "find_image"]

Notice = Callable[[str], None]

_CALL_S = 60.0
_IMPORT_S = 600.0
_BOOTSTRAP_S = 1200.0
_TAIL_BYTES = 2000
_LEFT_OUT = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/share/doc/*")


def base_recipe() -> dict[str, Any]:
    """The pinned recipe; `ARCI_BASE_IMAGE` names another registry image of Python for Debian."""
    recipe: dict[str, Any] = json.loads(recipe_bytes("base.json"))
    recipe["registry"] = os.environ.get("ARCI_BASE_IMAGE") or recipe["registry"]
    recipe["dockerfile"] = recipe_bytes("base.Dockerfile").decode()
    return recipe


def base_tag() -> str:
    """The base's name on an engine: a digest of its recipe, so another recipe is another image."""
    return f"arci/base:{digest(base_recipe())[:12]}"


async def find_image(engine: Engine, reference: str) -> dict[str, Any] | None:
    """The engine's description of an image that it has; None where it has none of that name."""
    try:
        found: dict[str, Any] = await engine.call(
            "inspect an image", engine.api.inspect_image, reference, timeout_s=_CALL_S
        )
    except EngineError as error:
        if error.status == 404:
            return None
        raise
    return found


async def ensure_base(engine: Engine, notice: Notice = lambda text: None) -> str:
    """The tag of the base image, made if it is missing. EngineError says what to do where it cannot be made."""
    tag, recipe = base_tag(), base_recipe()
    if await find_image(engine, tag) is not None:
        return tag
    try:
        await _from_registry(engine, tag, recipe["registry"], notice)
    except EngineError as refused:
        notice(f"{refused.message} Bootstrapping it from Debian packages instead.")
        await _from_debian(engine, tag, recipe["debian"], notice)
    return tag


async def _from_registry(engine: Engine, tag: str, reference: str, notice: Notice) -> None:
    if await find_image(engine, reference) is None:
        notice(f"Pulling {reference}.")
        await pull(engine, reference)
    context = BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        content = recipe_bytes("base.Dockerfile")
        member = tarfile.TarInfo("Dockerfile")
        member.size = len(content)
        tar.addfile(member, BytesIO(content))
    context.seek(0)
    await build(engine, context, BuildRequest(tag, {KIND: "base"}, {"BASE": reference}))


async def _from_debian(engine: Engine, tag: str, recipe: Mapping[str, Any], notice: Notice) -> None:
    await _need_mmdebstrap(notice)
    version = await engine.call("ask the engine's version", engine.api.version, timeout_s=_CALL_S)
    with tempfile.TemporaryDirectory(prefix="arci-base-") as directory:
        tar = Path(directory, "base.tar")
        notice(f"Bootstrapping Debian {recipe['suite']} with {', '.join(recipe['packages'])}.")
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(recipe["source_date_epoch"])}
        await _run("bootstrap the base image", bootstrap_argv(recipe, version["Arch"], str(tar)), environment)
        repository, _, name = tag.partition(":")
        changes = [f"LABEL {KIND}=base", 'CMD ["python3"]']
        said = await engine.call(
            "import the base image",
            engine.api.import_image_from_file,
            str(tar),
            repository=repository,
            tag=name,
            changes=changes,
            timeout_s=_IMPORT_S,
        )
    if await find_image(engine, tag) is None:
        raise EngineError("import the base image", f"the engine said {said[-_TAIL_BYTES:]!r}.")


def bootstrap_argv(recipe: Mapping[str, Any], architecture: str, out: str) -> list[str]:
    """The command that writes the base's root file system to the tar `out`. Pure.

    Documentation is left out but for licences; what mmdebstrap copies from this machine is emptied.
    """
    paths = [f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT]
    return [
        "mmdebstrap",
        "--quiet",
        "--variant=apt",
        f"--architectures={architecture}",
        f"--include={','.join(recipe['packages'])}",
        *paths,
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        '--customize-hook=for f in resolv.conf hostname machine-id; do : > "$1/etc/$f"; done',
        recipe["suite"],
        out,
    ]


async def _need_mmdebstrap(notice: Notice) -> None:
    if shutil.which("mmdebstrap") is not None:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise EngineError(
            "make the base image",
            "no registry answers, and `mmdebstrap` is not here to make one from Debian packages.",
            hint="apt-get install mmdebstrap (as root), or set ARCI_BASE_IMAGE to a Python image you can pull, "
            "or `arci images load FILE` with one saved elsewhere",
        )
    notice("Installing mmdebstrap.")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = ("mmdebstrap", "debian-archive-keyring")
    await _run("install mmdebstrap", ["apt-get", "update", "-q"], environment)
    await _run("install mmdebstrap", ["apt-get", "install", "-qy", "--no-install-recommends", *packages], environment)


async def _run(operation: str, argv: list[str], environment: Mapping[str, str]) -> None:
    done: CompletedProcess[bytes] | None = None
    with anyio.move_on_after(_BOOTSTRAP_S):
        done = await anyio.run_process(argv, env=environment, check=False)
    if done is None:
        raise EngineError(operation, f"`{argv[0]}` did not end within {_BOOTSTRAP_S:g} s.")
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-_TAIL_BYTES:].decode(errors="replace").strip()
        raise EngineError(operation, f"`{argv[0]}` ended with {done.returncode}: {said}")
