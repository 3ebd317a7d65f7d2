"""What the engine itself costs: the containers of a trial, attached as a trial's are, and empty.

The yardstick of `make bench`. Uses the library's client directly, in threads; nothing of a trial's choreography.
"""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from arci.isolation.base import ProcessSpec, RunPlan, TrialPlan
from arci.isolation.docker.connection import Connection
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.guest import DockerGuest
from arci.isolation.docker.isolation import image_refs
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.roles import PodParts, guest_config
from arci.isolation.docker.runtime import Runtime
from arci.isolation.docker.spec import ImageFacts, container_config, holder_config
from arci.model.manifest import Manifest
from arci.model.trial import Role

__all__ = ["ROLES", "empty_trials_per_s", "plain_trials_per_s"]

ROLES = (Role.BOUNDARY, Role.AGENT, Role.GRADER)
_EMPTY = ("python3", "-I", "-S", "-c", "pass")
_STREAMS = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}


def empty_trials_per_s(engine: Engine, manifest: Manifest, runtime: Runtime, *, trials: int, workers: int) -> float:
    """Trials per second of the three containers that a trial has, which run an empty Python program: create, attach,
    start, read to the end, remove, and nothing else."""
    api: Any = engine.api
    with _slot(engine, manifest, runtime) as parts:
        plan = RunPlan(str(uuid.uuid4()), manifest, workers), TrialPlan("bench", "baseline", 1)
        process = ProcessSpec(_EMPTY, stdin=b"", env={})
        configs = [guest_config(*plan, parts, role, process) for role in ROLES]
        # Not through arci-init: what is ours is not the engine's.
        configs = [{**config, "Entrypoint": [_EMPTY[0]], "Cmd": list(_EMPTY[1:])} for config in configs]

        def trial(_: int) -> None:
            for config in configs:
                container = str(api.create_container_from_config(config)["Id"])
                attached = api.attach_socket(container, _STREAMS)
                api.start(container)
                _read_to_end(attached)
                api.wait(container)
                api.remove_container(container, v=True, force=True)

        return _rate(trial, trials, workers)


def plain_trials_per_s(engine: Engine, manifest: Manifest, runtime: Runtime, *, trials: int, workers: int) -> float:
    """The same of as many containers that only have the limits: no volume, no directory, nobody attached."""
    api: Any = engine.api
    with _slot(engine, manifest, runtime) as parts:
        config = container_config(
            parts.images["runtime"],
            list(_EMPTY),
            env={},
            labels=labels(str(uuid.uuid4()), "bench", "agent"),
            network=parts.agent_holder.container_id,
            limits=manifest.isolation,
            files=parts.files,
        )

        def trial(_: int) -> None:
            for _guest in ROLES:
                container = str(api.create_container_from_config(config)["Id"])
                api.start(container)
                api.wait(container)
                api.remove_container(container, v=True, force=True)

        return _rate(trial, trials, workers)


def _rate(trial: Callable[[int], None], trials: int, workers: int) -> float:
    with ThreadPoolExecutor(workers) as pool:
        begun = time.perf_counter()
        list(pool.map(trial, range(trials)))
        return float(trials / (time.perf_counter() - begun))


def _read_to_end(attached: Any) -> None:
    stream: socket.socket = getattr(attached, "_sock", attached)
    stream.settimeout(600)
    while stream.recv(65536):
        pass
    stream.close()
    attached.close()


@contextmanager
def _slot(engine: Engine, manifest: Manifest, runtime: Runtime) -> Iterator[PodParts]:
    """What a worker slot lends to a pod; made before, and removed after, what is measured."""
    api: Any = engine.api
    own = labels(str(uuid.uuid4()), "bench", HOLDER)
    images = {key: ImageFacts.from_inspect(api.inspect_image(ref)) for key, ref in image_refs(manifest).items()}
    images["runtime"] = ImageFacts.from_inspect(api.inspect_image(runtime.image_id))
    files = min(manifest.isolation.files, 1024)
    volume = str(api.create_volume(**_sockets(own))["Name"])
    holders: list[DockerGuest] = []
    kept = []  # the library's answers, which close their sockets with them
    try:
        for slot_volume in (volume, None):
            config = holder_config(
                images["runtime"], labels=own, limits=manifest.isolation, files=files, slot_volume=slot_volume
            )
            container = str(api.create_container_from_config(config)["Id"])
            attached = api.attach_socket(container, _STREAMS)
            kept.append(attached)
            holders.append(DockerGuest(engine, container, Connection(getattr(attached, "_sock", attached))))
            api.start(container)
        yield PodParts(
            images=images,
            runtime_volume=runtime.volume,
            bytecode={},
            slot_volume=volume,
            work_volume=None,
            environment_volume=None,
            agent_holder=holders[0],
            trusted_holder=holders[1],
            socket_path="/run/arci/bench.sock",
            files=files,
            slot_number=1,
        )
    finally:
        for holder in holders:
            holder.close()
            with suppress(Exception):
                api.remove_container(holder.container_id, v=True, force=True)
        api.remove_volume(volume, force=True)


def _sockets(own: Mapping[str, str]) -> dict[str, Any]:
    options = {"type": "tmpfs", "device": "tmpfs", "o": "size=1048576,mode=0755"}
    return {"name": f"arci-bench-{uuid.uuid4()}", "driver": "local", "driver_opts": options, "labels": dict(own)}
