"""What of a run is still on an engine, told by label: for clean-up commands and the conformance checks."""

from __future__ import annotations

from typing import Any

from arci.isolation.docker.containers import CALL_S
from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import ROLE, RUN
from arci.isolation.remains import Remains

__all__ = ["find_remains"]


async def find_remains(engine: Engine, run_id: str) -> Remains:
    """Containers and volumes of one run, whoever started it."""
    of_run = {"label": [f"{RUN}={run_id}"]}
    containers = await engine.call("list containers", engine.api.containers, all=True, filters=of_run, timeout_s=CALL_S)
    volumes = await engine.call("list volumes", engine.api.volumes, filters=of_run, timeout_s=CALL_S)
    is_running = {c["Id"]: c["State"] in ("running", "paused", "restarting") for c in containers}
    running = tuple(_told(c) for c in containers if is_running[c["Id"]])
    resting = tuple(_told(c) for c in containers if not is_running[c["Id"]])
    return Remains(running, (*resting, *(f"volume {v['Name']}" for v in volumes["Volumes"] or ())))


def _told(container: dict[str, Any]) -> str:
    return f"container {container['Id'][:12]} ({container['Labels'].get(ROLE)}): {container['State']}"
