"""Worker slots: for each arm a pair of holders whose namespaces the containers of one trial after another join.

Per arm, so that nothing the candidate leaves behind can touch a trial of the baseline. Made when first needed.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from arci.isolation.base import RunPlan, TrialPlan
from arci.isolation.docker.anchor import keeps_slots
from arci.isolation.docker.containers import Containers
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.pod import DockerPod
from arci.isolation.docker.relay import expect_line
from arci.isolation.docker.roles import PodParts
from arci.isolation.docker.spec import SLOT_DIR, ImageFacts, holder_config, workdir_volume
from arci.isolation.groups import task_group

__all__ = ["DockerSlots"]

_SOCKETS_BYTES = 1 << 20


@dataclass(slots=True)
class Slot:
    arm: str
    number: int
    volume: str
    agent_side: DockerGuest
    trusted_side: DockerGuest

    @property
    def holders(self) -> tuple[DockerGuest, DockerGuest]:
        return (self.agent_side, self.trusted_side)

    @property
    def is_alive(self) -> bool:
        return not any(holder.has_ended for holder in self.holders)


class DockerSlots:
    """The slots of one run. `images`: `baseline`, `candidate`, `boundary`, `grader`, `runtime`, and `server:<name>` of
    each server in an image of its own -> facts."""

    def __init__(
        self,
        run: RunPlan,
        containers: Containers,
        *,
        images: Mapping[str, ImageFacts],
        runtime_volume: str,
        bytecode: Mapping[str, str],
        files: int,
    ) -> None:
        self._run = run
        self._containers = containers
        self._images = images
        self._runtime_volume = runtime_volume
        self._bytecode = bytecode
        self._files = files
        self._idle: dict[str, list[Slot]] = {}
        self._made = 0

    @asynccontextmanager
    async def pod(self, plan: TrialPlan) -> AsyncIterator[DockerPod]:
        slot = await self._take(plan.arm)
        try:
            pod = await self._open_pod(slot, plan)
        except BaseException:
            self._give_back(slot, (), ())
            raise
        try:
            yield pod
        finally:
            with anyio.CancelScope(shield=True):
                await self._close_pod(pod, slot)

    async def _open_pod(self, slot: Slot, plan: TrialPlan) -> DockerPod:
        name = secrets.token_hex(12)
        manifest = self._run.manifest
        work = await self._make_volume("work", name, plan) if manifest.evidence else None
        environment = await self._make_volume("environment", name, plan) if manifest.environment.needs_files else None
        parts = PodParts(
            images=self._images,
            runtime_volume=self._runtime_volume,
            bytecode=self._bytecode,
            slot_volume=slot.volume,
            work_volume=work,
            environment_volume=environment,
            agent_holder=slot.agent_side,
            trusted_holder=slot.trusted_side,
            socket_path=f"{SLOT_DIR}/{name}.sock",
            files=self._files,
            slot_number=slot.number,
            silence_ms=self._containers.silence_ms,
        )
        return DockerPod(self._run, plan, self._containers, parts)

    async def _make_volume(self, kind: str, name: str, plan: TrialPlan) -> str:
        """A workdir as a volume, which outlives those who write in it: where there is something to read from it."""
        labels = self._labels("workdir", plan.trial_id)
        size = self._run.manifest.isolation.disk_bytes
        return await self._containers.make_volume(workdir_volume(f"arci-{kind}-{name}", labels=labels, size_bytes=size))

    async def _close_pod(self, pod: DockerPod, slot: Slot) -> None:
        is_quiet = False
        try:
            await pod.end()
            is_quiet = True
        finally:
            self._give_back(slot, pod.guests, pod.volumes, is_usable=is_quiet)

    def _give_back(
        self, slot: Slot, guests: tuple[DockerGuest, ...], volumes: tuple[str, ...], *, is_usable: bool = True
    ) -> None:
        """Remove what a trial had; keep the slot for the next one only if nothing of the trial can be left in it."""
        if is_usable and slot.is_alive and keeps_slots(self._run.manifest.isolation):
            self._containers.discard(guests, volumes)
            self._idle.setdefault(slot.arm, []).append(slot)
        else:
            self._containers.discard((*guests, *slot.holders), (*volumes, slot.volume))

    async def _take(self, arm: str) -> Slot:
        idle = self._idle.setdefault(arm, [])
        while idle:
            slot = idle.pop()
            if slot.is_alive:
                return slot
            self._containers.discard(slot.holders, (slot.volume,))
        return await self._make(arm)

    async def _make(self, arm: str) -> Slot:
        self._made += 1
        number = self._made
        volume = await self._containers.make_volume(
            {
                "name": f"arci-slot-{self._run.run_id}-{number}",
                "driver": "local",
                "driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": f"size={_SOCKETS_BYTES},mode=0755"},
                "labels": self._labels("slot"),
            }
        )
        sides: dict[str, DockerGuest] = {}

        async def hold(side: str, slot_volume: str | None) -> None:
            config = holder_config(
                self._images["runtime"],
                labels=self._labels(HOLDER),
                limits=self._run.manifest.isolation,
                files=self._files,
                slot_volume=slot_volume,
                silence_ms=self._containers.silence_ms,
            )
            guest = await self._containers.launch(config)
            await expect_line(guest, b"ready", "start a holder")
            sides[side] = guest

        async with task_group() as group:
            group.start_soon(hold, "agent", volume)
            group.start_soon(hold, "trusted", None)
        return Slot(arm, number, volume, sides["agent"], sides["trusted"])

    def _labels(self, role: str, trial_id: str | None = None) -> dict[str, str]:
        return labels(self._run.run_id, self._run.manifest.experiment_id, role, trial_id)
