"""The labels on everything made for a run, one of them from the environment; which left-overs may be removed (pure)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["EXPERIMENT", "HOLDER", "OWNER", "ROLE", "RUN", "TRIAL", "Leftovers", "dead_leftovers", "labels"]

RUN = "dev.arci.run"
TRIAL = "dev.arci.trial"
ROLE = "dev.arci.role"
EXPERIMENT = "dev.arci.experiment"
OWNER = "dev.arci.owner"
"""What the variable `ARCI_OWNER` says, where it is set: so that those who share an engine know what is whose."""
HOLDER = "holder"

_YOUNG_S = 120.0
"""A run that is just being set up has no running holder yet: what is younger than this is left alone."""


def labels(run_id: str, experiment_id: str, role: str, trial_id: str | None = None) -> dict[str, str]:
    """The labels of one object of a run."""
    found = {RUN: run_id, EXPERIMENT: experiment_id, ROLE: role}
    if trial_id is not None:
        found[TRIAL] = trial_id
    if owner := os.environ.get("ARCI_OWNER"):
        found[OWNER] = owner
    return found


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What runs that are dead left on an engine; containers in an order in which they can be removed."""

    run_ids: tuple[str, ...]
    containers: tuple[str, ...]
    volumes: tuple[str, ...]


def dead_leftovers(
    containers: Iterable[Mapping[str, Any]], volumes: Iterable[Mapping[str, Any]], *, now_s: float
) -> Leftovers:
    """Everything of runs that have no living holder. A holder lives exactly as long as the `arci` that made it.

    `containers` and `volumes` are rows of the engine's lists (`Labels`, `State`, `Created` or `CreatedAt`); `now_s` is
    Unix time on the engine's clock. What carries no run label is not ours to judge.
    """
    containers, volumes = list(containers), list(volumes)
    alive = {_run(c) for c in containers if _is_living(c, now_s)}
    alive |= {_run(v) for v in volumes if now_s - _volume_made_s(v) < _YOUNG_S and not _has_holder(_run(v), containers)}
    dead_containers = [c for c in containers if _run(c) and _run(c) not in alive]
    dead_volumes = [v for v in volumes if _run(v) and _run(v) not in alive]
    # Podman removes no container whose namespace another one has joined.
    dead_containers.sort(key=lambda container: container["Labels"].get(ROLE) == HOLDER)
    runs = sorted({_run(x) or "" for x in (*dead_containers, *dead_volumes)})
    return Leftovers(tuple(runs), tuple(c["Id"] for c in dead_containers), tuple(v["Name"] for v in dead_volumes))


def _run(row: Mapping[str, Any]) -> str | None:
    return (row.get("Labels") or {}).get(RUN)


def _is_living(container: Mapping[str, Any], now_s: float) -> bool:
    if (container.get("Labels") or {}).get(ROLE) != HOLDER:
        return False
    state = container.get("State")
    return state in ("running", "paused") or (state == "created" and now_s - float(container["Created"]) < _YOUNG_S)


def _has_holder(run_id: str | None, containers: list[Mapping[str, Any]]) -> bool:
    return any(_run(c) == run_id and (c.get("Labels") or {}).get(ROLE) == HOLDER for c in containers)


def _volume_made_s(volume: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(volume["CreatedAt"])).timestamp()
    except (KeyError, ValueError):
        return 0.0
