"""What a test session's own processes left on an engine: told by the owner that each of them labels its things with."""

from __future__ import annotations

import time
from typing import Any

from arci.isolation.docker.labels import OWNER, RUN

__all__ = ["await_nothing_left", "belongings"]

_PAUSE_S = 0.5


def belongings(api: Any, owner: str) -> list[str]:
    """Ids of containers and names of volumes that runs of `owner` have on the engine, in an order that stays."""
    of_runs = {"label": [RUN, f"{OWNER}={owner}"]}
    containers = [container["Id"] for container in api.containers(all=True, filters=of_runs)]
    return sorted([*containers, *(volume["Name"] for volume in api.volumes(filters=of_runs)["Volumes"] or ())])


def await_nothing_left(api: Any, owner: str, *, looks: int = 60) -> None:
    """AssertionError if something of `owner` is there each time of `looks`: what was killed may be about to end."""
    for look in range(looks):
        if not (left := belongings(api, owner)):
            return
        if look + 1 < looks:
            time.sleep(_PAUSE_S)
    raise AssertionError(f"left on the engine: {left}; remove with: arci clean")
