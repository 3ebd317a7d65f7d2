"""The three containers of one trial attempt: which image, namespace, mounts and user each role gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec, RunPlan, TrialPlan
from arci.isolation.docker.archive import fetch
from arci.isolation.docker.containers import Containers
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.labels import labels
from arci.isolation.docker.relay import point_relay
from arci.isolation.docker.spec import (
    AGENT_PORT,
    BOUNDARY_CAPS,
    BYTECODE_DIR,
    ENVIRONMENT_UID,
    EVIDENCE_DIR,
    INIT,
    LAUNCH,
    RUNTIME_DIR,
    SLOT_DIR,
    WORKDIR,
    ImageFacts,
    Mount,
    container_config,
)
from arci.isolation.groups import task_group
from arci.model.trial import Role

__all__ = ["DockerPod", "PodParts"]

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
    agent_holder: DockerGuest
    trusted_holder: DockerGuest
    socket_path: str
    files: int
    slot_number: int


class DockerPod:
    def __init__(self, run: RunPlan, plan: TrialPlan, containers: Containers, parts: PodParts) -> None:
        self.listen = f"unix:{parts.socket_path}"
        self.dial = f"tcp:127.0.0.1:{AGENT_PORT}"
        self.volumes = () if parts.work_volume is None else (parts.work_volume,)
        self._run = run
        self._plan = plan
        self._containers = containers
        self._parts = parts
        self._guests: dict[Role, DockerGuest] = {}

    @property
    def guests(self) -> tuple[DockerGuest, ...]:
        return tuple(self._guests.values())

    def workdir(self, role: Role) -> str:
        return WORKDIR if role is Role.AGENT else "/tmp"

    def source(self, role: Role) -> str:
        return "."  # the image's working directory, in which every guest starts

    def python(self, role: Role, guest: str, *args: str) -> tuple[str, ...]:
        uid = ("--uid", str(ENVIRONMENT_UID)) if guest == "recorder" else ()
        prefix = ("-X", f"pycache_prefix={BYTECODE_DIR}") if self._image(role).id in self._parts.bytecode else ()
        return ("python3", "-I", "-S", *prefix, LAUNCH, guest, *args, *uid)

    async def start(self, role: Role, process: ProcessSpec) -> DockerGuest:
        if role in self._guests:
            raise EngineError("start a guest", f"the pod has a {role} already.")
        if role is Role.AGENT:
            await point_relay(self._parts.agent_holder, self._parts.socket_path)
        guest = await self._containers.launch(self._config(role, process))
        self._guests[role] = guest
        if self._has_init(role, process):
            self._containers.feed(guest, header(process))
        return guest

    async def get(self, role: Role, path: str, limit_bytes: int) -> bytes:
        keeper = self._guests.get(Role.BOUNDARY)
        if role is not Role.AGENT or keeper is None or not self.volumes:
            raise EngineError("read a workdir", f"nothing keeps the {role}'s workdir: evidence must be declared.")
        return await fetch(self._containers.engine, keeper.container_id, EVIDENCE_DIR, path, limit_bytes)

    async def end(self) -> None:
        """Every process of the pod is gone when this returns. EngineError if the engine did not end one of them."""
        troubles: list[EngineError] = []

        async def stop(guest: DockerGuest) -> None:
            try:
                await guest.stop(0.0)
            except EngineError as error:  # the others are ended all the same
                troubles.append(error)
            guest.close()

        async with task_group() as group:
            for guest in self.guests:
                group.start_soon(stop, guest)
        if troubles:
            raise troubles[0]

    def _has_init(self, role: Role, process: ProcessSpec) -> bool:
        """The boundary reads its own stdin; whatever else runs is started, fed and ended by arci-init."""
        return role is not Role.BOUNDARY or process.stdin is not None

    def _image(self, role: Role) -> ImageFacts:
        return self._parts.images[self._plan.arm if role is Role.AGENT else role.value]

    def _config(self, role: Role, process: ProcessSpec) -> dict[str, Any]:
        parts, limits = self._parts, self._run.manifest.isolation
        image = self._image(role)
        argv = process.argv or (*image.entrypoint, *image.cmd)
        mounts = [Mount(parts.runtime_volume, RUNTIME_DIR)]
        if image.id in parts.bytecode:
            mounts.append(Mount(parts.bytecode[image.id], BYTECODE_DIR))
        env, user, caps = {"HOME": "/tmp", "TMPDIR": "/tmp", **process.env}, None, limits.caps
        if role is Role.BOUNDARY:
            mounts.append(Mount(parts.slot_volume, SLOT_DIR, read_only=False))
            mounts += [Mount(volume, EVIDENCE_DIR) for volume in self.volumes]
            user, caps = "0:0", BOUNDARY_CAPS
        if self._has_init(role, process):
            status = ("--status", self.dial) if process.status_token is not None else ()
            argv = (INIT, "init", *status, "--", *argv)
        if role is Role.AGENT:
            mounts += [Mount(volume, WORKDIR, read_only=False) for volume in self.volumes]
            env = {**env, "HOME": WORKDIR, **process.env}
            user = str(_AUTO_UID + parts.slot_number) if limits.user == "auto" else limits.user
        elif role is Role.GRADER:
            caps = ()
        holder = parts.agent_holder if role is Role.AGENT else parts.trusted_holder
        return container_config(
            image,
            argv,
            env=env,
            labels=labels(self._run.run_id, self._run.manifest.experiment_id, role, self._plan.trial_id),
            network=holder.container_id,
            limits=limits if role is Role.AGENT else replace(limits, read_only=True),
            files=parts.files,
            mounts=mounts,
            scratch=(WORKDIR,) if role is Role.AGENT and not self.volumes else (),
            user=user,
            caps=caps,
        )


def header(process: ProcessSpec) -> bytes:
    """What `arci-init` reads first: its status token, or the child's whole stdin."""
    if process.status_token is not None:
        return f"status {process.status_token}\n".encode()
    body = process.stdin or b""
    return b"feed %d\n" % len(body) + body
