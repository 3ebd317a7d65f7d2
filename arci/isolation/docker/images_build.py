"""A project's image: its build context made, looked up by the context's digest, and built if it is new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from arci.isolation.docker.base_image import Notice, base_tag, ensure_base, find_image
from arci.isolation.docker.build import BuildRequest, build
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.images_context import context_sha256, context_tar
from arci.isolation.docker.images_dockerfile import APP, CA_NAME, project_dockerfile
from arci.isolation.docker.recipes import KIND
from arci.manifest.context import context_files
from arci.manifest.images import ImageRequest
from arci.model.canonical import digest

__all__ = ["ensure_project_image"]

_CA_PRIVATE_NAME = ".arci-build-ca.pem"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a request is built. `texts` are files that ARCI adds to the context."""

    files: tuple[tuple[str, str], ...]
    texts: Mapping[str, bytes]
    dockerfile: str
    args: Mapping[str, str]
    needs_base: bool
    ca_name: str | None
    """Where the CA bundle goes in the context; None where the Dockerfile does not ask for it."""


async def ensure_project_image(
    engine: Engine,
    request: ImageRequest,
    *,
    platform: str | None = None,
    build_ca: bytes | None = None,
    notice: Notice = lambda text: None,
) -> str:
    """The tag of the image of a `build` request. A second call for the same context builds nothing.

    BuildFailed names the failing step; OSError for a context that cannot be read.
    """
    plan = plan_build(request, has_ca=build_ca is not None)
    tag = _tag(request, platform)
    if await find_image(engine, tag) is not None:
        return tag
    if plan.needs_base:
        await ensure_base(engine, notice)
    notice(f"Building {tag} from {request.context}.")
    with _tar(plan, build_ca) as context:
        wanted = BuildRequest(
            tag, {KIND: "project"}, plan.args, dockerfile=plan.dockerfile, target=request.target, platform=platform
        )
        await build(engine, context, wanted)
    return tag


def plan_build(request: ImageRequest, *, has_ca: bool) -> Plan:
    """The user's own Dockerfile if there is one, else ARCI's for Python projects. Reads the context's directory."""
    assert request.context is not None
    name = request.dockerfile or "Dockerfile"
    path = request.context / name
    if request.dockerfile is None and not path.is_file():
        return _generated(request.context, request, has_ca)
    text = path.read_text(encoding="utf-8", errors="replace")
    args = dict(request.args)
    needs_base = "ARCI_BASE" in text and "ARCI_BASE" not in args
    if needs_base:
        args["ARCI_BASE"] = base_tag()
    takes_ca = has_ca and "ARCI_CA_BUNDLE" in text
    if takes_ca:
        args["ARCI_CA_BUNDLE"] = _CA_PRIVATE_NAME
    files = tuple(context_files(request.context, keep=(name, ".dockerignore")))
    return Plan(files, {}, name, args, needs_base, _CA_PRIVATE_NAME if takes_ca else None)


def _generated(directory: Path, request: ImageRequest, has_ca: bool) -> Plan:
    files = tuple((f"{APP}/{name}", path) for name, path in context_files(directory))
    there = dict(files)
    text = project_dockerfile(
        base_tag(),
        requirements=_text(there.get(f"{APP}/requirements.txt")),
        pyproject=_text(there.get(f"{APP}/pyproject.toml")),
        args=[name for name, _ in request.args],
        has_ca=has_ca,
    )
    ca_name = CA_NAME if has_ca and CA_NAME in text else None
    texts = {"Dockerfile": text.encode()}
    if not files:  # an engine refuses to copy what is not in the context
        texts[f"{APP}/.keep"] = b""
    return Plan(files, texts, "Dockerfile", dict(request.args), True, ca_name)


def _text(path: str | None) -> str | None:
    return None if path is None else Path(path).read_text(encoding="utf-8", errors="replace")


def _tag(request: ImageRequest, platform: str | None) -> str:
    """By content. A CA bundle is a matter of the place where the image is built and changes nothing of it."""
    plan = plan_build(request, has_ca=False)
    with context_tar(plan.files, plan.texts) as tar:
        key = digest([context_sha256(tar), plan.dockerfile, dict(plan.args), request.target, platform])
    return f"arci/project:{key[:12]}"


def _tar(plan: Plan, build_ca: bytes | None) -> BinaryIO:
    texts = dict(plan.texts)
    if plan.ca_name is not None and build_ca is not None:
        texts[plan.ca_name] = build_ca
    return context_tar(plan.files, texts)
