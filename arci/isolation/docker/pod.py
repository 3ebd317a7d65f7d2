"""The containers of one trial attempt: started, asked for their files, ended. What each looks like is `roles`."""

from __future__ import annotations

from arci.errors import EngineError
from arci.isolation.base import ProcessSpec, RunPlan, TrialPlan
from arci.isolation.docker.archive import fetch
from arci.isolation.docker.containers import Containers
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.relay import point_relay
from arci.isolation.docker.roles import DIAL, PodParts, guest_config, has_init, image_of
from arci.isolation.docker.spec import (
    BYTECODE_DIR,
    ENVIRONMENT_DIR,
    ENVIRONMENT_UID,
    EVIDENCE_DIR,
    INIT,
    LAUNCH,
    WORKDIR,
    silence_argv,
)
from arci.isolation.groups import task_group
from arci.isolation.header import init_header
from arci.model.trial import Role

__all__ = ["DockerPod"]


class DockerPod:
    def __init__(self, run: RunPlan, plan: TrialPlan, containers: Containers, parts: PodParts) -> None:
        self.listen = f"unix:{parts.socket_path}"
        self.dial = DIAL
        self.listen_http: str | None = None  # the holder's port takes both
        self.shim: str | None = INIT
        self.volumes = tuple(v for v in (parts.work_volume, parts.environment_volume) if v is not None)
        self._run = run
        self._plan = plan
        self._containers = containers
        self._parts = parts
        self._guests: dict[tuple[Role, str], DockerGuest] = {}  # role and, of the environment, server

    @property
    def guests(self) -> tuple[DockerGuest, ...]:
        return tuple(self._guests.values())

    def workdir(self, role: Role) -> str:
        return {Role.AGENT: WORKDIR, Role.ENVIRONMENT: ENVIRONMENT_DIR}.get(role, "/tmp")

    def scratch(self, role: Role) -> str:
        return "/tmp"

    def source(self, role: Role) -> str:
        return image_of(self._parts, self._plan, role).workdir  # every guest starts there, but servers go elsewhere

    def python(self, role: Role, guest: str, *args: str) -> tuple[str, ...]:
        own: tuple[str, ...] = ()
        if guest == "recorder":
            own = ("--uid", str(ENVIRONMENT_UID), *silence_argv(self._parts.silence_ms))
        image = image_of(self._parts, self._plan, role)
        prefix = ("-X", f"pycache_prefix={BYTECODE_DIR}") if image.id in self._parts.bytecode else ()
        return ("python3", "-I", "-S", *prefix, LAUNCH, guest, *args, *own)

    async def start(self, role: Role, process: ProcessSpec) -> DockerGuest:
        key = (role, "" if process.serve is None else process.serve[0])
        if (role is Role.ENVIRONMENT) is (process.serve is None):
            raise EngineError("start a guest", "an environment guest is a server, and no other guest is one: `serve`.")
        if key in self._guests:
            raise EngineError("start a guest", f"the pod has a {' '.join(filter(None, key))} already.")
        config = guest_config(self._run, self._plan, self._parts, role, process)
        header = init_header(process)
        if role is Role.AGENT:
            await point_relay(self._parts.agent_holder, self._parts.socket_path)
        guest = await self._containers.launch(config)
        self._guests[key] = guest
        if role is Role.AGENT:
            guest.holder = self._parts.agent_holder
        if has_init(role, process):
            self._containers.feed(guest, header)
        return guest

    async def get(self, role: Role, path: str, limit_bytes: int) -> bytes:
        keeper = self._guests.get((Role.BOUNDARY, ""))
        places = {
            Role.AGENT: (self._parts.work_volume, EVIDENCE_DIR, "evidence must be declared"),
            Role.ENVIRONMENT: (self._parts.environment_volume, ENVIRONMENT_DIR, "a snapshot must read files"),
        }
        volume, root, needed = places.get(role, (None, "", "it has none to be read"))
        if keeper is None or volume is None:
            raise EngineError("read a workdir", f"nothing keeps the {role}'s workdir: {needed}.")
        return await fetch(self._containers.engine, keeper.container_id, root, path, limit_bytes)

    async def end(self) -> None:
        """Every process of the pod is gone when this returns. EngineError if the engine did not end one of them."""
        troubles: list[EngineError] = []

        async def stop(guest: DockerGuest) -> None:
            guest.holder = None  # what dies from now on, dies by us
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
