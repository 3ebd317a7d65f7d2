"""What the engine itself costs: as many joined, empty Python containers with the same limits as a trial has guests.

The yardstick of `make bench`. Uses the engine's client directly, in threads; nothing of a trial's choreography.
"""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import HOLDER, labels
from arci.isolation.docker.spec import ImageFacts, container_config, holder_config
from arci.model.manifest import Isolation

__all__ = ["bare_trials_per_s"]

_GUESTS = 3


def bare_trials_per_s(engine: Engine, image: ImageFacts, limits: Isolation, *, trials: int, workers: int) -> float:
    """Trials per second of `_GUESTS` empty containers each: create, start, wait, remove, and nothing else."""
    api: Any = engine.api
    run_id = str(uuid.uuid4())
    files = min(limits.files, 1024)

    def make(config: dict[str, Any]) -> str:
        return str(api.create_container_from_config(config)["Id"])

    own = labels(run_id, "bench", HOLDER)
    holder = make(holder_config(image, labels=own, limits=limits, files=files, slot_volume=None))
    attached = api.attach_socket(holder, {"stdin": 1, "stdout": 1, "stream": 1})
    api.start(holder)
    config = container_config(
        image,
        ["python3", "-I", "-S", "-c", "pass"],
        env={},
        labels=labels(run_id, "bench", "agent"),
        network=holder,
        limits=limits,
        files=files,
    )

    def trial(_: int) -> None:
        for _guest in range(_GUESTS):
            container = make(config)
            api.start(container)
            api.wait(container)
            api.remove_container(container, v=True, force=True)

    try:
        with ThreadPoolExecutor(workers) as pool:
            begun = time.perf_counter()
            list(pool.map(trial, range(trials)))
            return trials / (time.perf_counter() - begun)
    finally:
        with suppress(Exception):
            attached.close()
        api.remove_container(holder, v=True, force=True)
