"""What this process holds, and what one run has on an engine: counts of one moment. Linux alone."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from arci.isolation.docker.engine import Engine
from arci.isolation.docker.labels import RUN, TRIAL

__all__ = ["Held", "held", "settled"]

_PAUSE_S = 0.05
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Held:
    """`counts`: name -> number, those of memory in KiB; blocks are what Python's allocator has given out, of texts and
    numbers too. `objects`: type -> how many the garbage collector knows."""

    label: str
    counts: Mapping[str, int]
    objects: Mapping[str, int]

    def growth(self, since: Held) -> dict[str, int]:
        """The types of which there are more than `since`, and how many more."""
        more = {name: count - since.objects.get(name, 0) for name, count in self.objects.items()}
        return {name: count for name, count in more.items() if count > 0}


async def held(label: str, engine: Engine | None, run_id: str) -> Held:
    """Counted now. The engine is asked on the event loop's own thread: another one would be counted too."""
    on_engine = {} if engine is None else _on_engine(engine, run_id)
    before_kib = _status()["VmRSS"]
    gc.collect()
    blocks, status = sys.getallocatedblocks(), _status()
    objects = Counter(_name(value) for value in gc.get_objects())
    counts = {
        **on_engine,
        "file descriptors": len(_descriptors()),
        "threads": status["Threads"],
        "tasks": len(asyncio.all_tasks()),
        "children": len(_children()),
        "memory, KiB": before_kib,
        "memory after gc, KiB": status["VmRSS"],
        "objects": objects.total(),
        "blocks of memory": blocks,
    }
    return Held(label, counts, objects)


async def settled(engine: Engine, run_id: str) -> None:
    """Waits until nothing of a single trial is on the engine any more: removal is off a trial's critical path."""
    with anyio.fail_after(_PATIENCE_S):
        while any(TRIAL in row["Labels"] for row in _containers(engine, run_id)):  # noqa: ASYNC110  # the engine tells nobody
            await anyio.sleep(_PAUSE_S)


def _on_engine(engine: Engine, run_id: str) -> dict[str, int]:
    volumes = engine.api.volumes(filters={"label": [f"{RUN}={run_id}"]})["Volumes"] or ()
    rows = _containers(engine, run_id)
    return {
        "containers": len(rows),
        "containers of trials": sum(TRIAL in row["Labels"] for row in rows),
        "volumes": len(volumes),
    }


def _containers(engine: Engine, run_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine.api.containers(all=True, filters={"label": [f"{RUN}={run_id}"]})
    return found


def _status() -> dict[str, int]:
    """The numbers in the kernel's words on this process; memory in KiB."""
    lines = (line.partition(":") for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return {name: int(words[0]) for name, _, rest in lines if (words := rest.split()) and words[0].isdigit()}


def _descriptors() -> list[Path]:
    """Those of this process, without the one by which they are listed."""
    return list(Path("/proc/self/fd").iterdir())[1:]


def _children() -> list[str]:
    return [pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]


def _name(value: object) -> str:
    kind = type(value)
    return sys.intern(f"{kind.__module__}.{kind.__qualname__}")  # else each count would add to the next one
