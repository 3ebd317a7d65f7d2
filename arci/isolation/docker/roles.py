"""Each role's container: which image, command, namespace, mounts, user and capabilities it gets. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec, RunPlan, TrialPlan
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.labels import labels
from arci.isolation.docker.spec import (
    AGENT_PORT,
    BOUNDARY_CAPS,
    BYTECODE_DIR,
    ENVIRONMENT_DIR,
    EVIDENCE_DIR,
    INIT,
    RUNTIME_DIR,
    SLOT_DIR,
    WORKDIR,
    ImageFacts,
    Mount,
    container_config,
    silence_argv,
)
from arci.model.manifest import Server
from arci.model.trial import Role

__all__ = ["DIAL", "PodParts", "guest_config", "has_init", "image_key", "image_of"]

DIAL = f"tcp:127.0.0.1:{AGENT_PORT}"
_AUTO_UID = 61000
"""With `user: auto` slot n runs its agent as this uid + n."""


@dataclass(frozen=True, slots=True)
class PodParts:
    """What a slot lends to the pod of one attempt."""

    images: Mapping[str, ImageFacts]
    runtime_volume: str
    bytecode: Mapping[str, str]
    """Image id -> volume with the library compiled for its interpreter, where that is not the runtime's."""
    slot_volume: str
    work_volume: str | None
    """None: no evidence is declared, so the workdir may go with the agent (two engine calls fewer per trial)."""
    environment_volume: str | None
    """None: no server's files are read, so they may go with their container."""
    agent_holder: DockerGuest
    trusted_holder: DockerGuest
    socket_path: str
    files: int
    slot_number: int
    silence_ms: int | None = None
    """How long a guest lives on without a sign of life; None: without one."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a role's container has beside what all have."""

    mounts: tuple[Mount, ...] = ()
    scratch: tuple[str, ...] = ()
    home: str = "/tmp"
    user: str | None = None
    """None: the image's own."""
    caps: tuple[str, ...] = ()


def image_key(role: Role, arm: str, server: str) -> str:
    """The role's key among the images of a manifest. `server`: the name, for the environment."""
    if role is Role.ENVIRONMENT:
        return f"server:{server}"
    return arm if role is Role.AGENT else role.value


def image_of(parts: PodParts, plan: TrialPlan, role: Role, server: str = "") -> ImageFacts:
    key = image_key(role, plan.arm, server)
    if key not in parts.images:
        raise EngineError("start a guest", f"the manifest names no image `{key}`.")
    return parts.images[key]


def has_init(role: Role, process: ProcessSpec) -> bool:
    """The boundary reads its own stdin; whatever else runs is started, fed and ended by arci-init."""
    return role is not Role.BOUNDARY or process.stdin is not None


def guest_config(run: RunPlan, plan: TrialPlan, parts: PodParts, role: Role, process: ProcessSpec) -> dict[str, Any]:
    """The create request of a role's guest. EngineError where neither the image nor the process names a command."""
    server = "" if process.serve is None else process.serve[0]
    image = image_of(parts, plan, role, server)
    place = _place(run, parts, role, server)
    mounts = [Mount(parts.runtime_volume, RUNTIME_DIR), *place.mounts]
    if role is not Role.ENVIRONMENT and image.id in parts.bytecode:
        mounts.append(Mount(parts.bytecode[image.id], BYTECODE_DIR))
    holder = parts.agent_holder if role is Role.AGENT else parts.trusted_holder
    limits = run.manifest.isolation
    return container_config(
        image,
        _argv(role, process, image, parts),
        env={"HOME": place.home, "TMPDIR": "/tmp", **process.env},
        labels=labels(run.run_id, run.manifest.experiment_id, role, plan.trial_id),
        network=holder.container_id,
        limits=limits if role is Role.AGENT else replace(limits, read_only=True),
        files=parts.files,
        mounts=mounts,
        scratch=place.scratch,
        user=place.user,
        caps=place.caps,
    )


def _argv(role: Role, process: ProcessSpec, image: ImageFacts, parts: PodParts) -> tuple[str, ...]:
    argv = process.argv or (*image.entrypoint, *image.cmd)
    if not argv:
        raise EngineError(
            "start a guest", f"no argv is given, and the {role}'s image has neither an ENTRYPOINT nor a CMD."
        )
    if not has_init(role, process):
        return argv
    told: tuple[str, ...] = ()
    if process.serve is not None:
        told = ("--serve", f"unix:{parts.socket_path}")
    elif process.status_token is not None:
        told = ("--status", DIAL)
    return (INIT, "init", *silence_argv(parts.silence_ms), *told, "--", *argv)


def _place(run: RunPlan, parts: PodParts, role: Role, server: str) -> Place:
    if role is Role.AGENT:
        return _agent(run, parts)
    if role is Role.BOUNDARY:
        return _boundary(run, parts)
    return _server(run, parts, server) if role is Role.ENVIRONMENT else Place()


def _agent(run: RunPlan, parts: PodParts) -> Place:
    limits = run.manifest.isolation
    user = str(_AUTO_UID + parts.slot_number) if limits.user == "auto" else limits.user
    mounts, scratch = _kept_or_not(parts.work_volume, WORKDIR)
    return Place(mounts, scratch, home=WORKDIR, user=user, caps=limits.caps)


def _boundary(run: RunPlan, parts: PodParts) -> Place:
    mounts: tuple[Mount, ...] = (Mount(parts.slot_volume, SLOT_DIR, read_only=False),)
    if parts.work_volume is not None:
        mounts = (*mounts, Mount(parts.work_volume, EVIDENCE_DIR))
    own: tuple[tuple[Mount, ...], tuple[str, ...]] = ((), ())
    # It keeps the files of all servers, and those that the recorder starts live here.
    if parts.environment_volume is not None or any(not s.has_image for s in run.manifest.environment.servers):
        own = _kept_or_not(parts.environment_volume, ENVIRONMENT_DIR)
    return Place((*mounts, *own[0]), own[1], user="0:0", caps=BOUNDARY_CAPS)


def _server(run: RunPlan, parts: PodParts, name: str) -> Place:
    """Read-only, a socket can still be connected to. A server whose files nobody reads does not see those of others."""
    declared: Server | None = next((s for s in run.manifest.environment.servers if s.name == name), None)
    volume = parts.environment_volume if declared is not None and declared.needs_files else None
    mounts, scratch = _kept_or_not(volume, ENVIRONMENT_DIR)
    return Place((Mount(parts.slot_volume, SLOT_DIR), *mounts), scratch, home=f"{ENVIRONMENT_DIR}/{name}")


def _kept_or_not(volume: str | None, directory: str) -> tuple[tuple[Mount, ...], tuple[str, ...]]:
    """A writable directory: mounts, and what is gone with the container."""
    return ((), (directory,)) if volume is None else ((Mount(volume, directory, read_only=False),), ())
