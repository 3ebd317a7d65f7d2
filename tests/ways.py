"""Experiments of many tasks, each a way to go wrong with the record that it must end in. Shared by every back end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e import descriptor, project

__all__ = ["DOCKER", "PROCESS", "Way", "agents", "by_ways", "check", "check_arm", "ways_on"]

PROCESS, DOCKER = ("process",), ("docker",)


@dataclass(frozen=True)
class Way:
    """One way to go wrong: the body of an agent (or what else does it), and the record of its trial."""

    name: str
    body: str
    outcome: str
    ending: str
    exit_code: int | None = None
    signal: int | None = None
    detail: str = ""
    """Part of the record's detail."""
    blame: str = "agent"
    """Of what is no PASS."""
    on: tuple[str, ...] = (*PROCESS, *DOCKER)


def ways_on(ways: Sequence[Way], backend: str) -> tuple[Way, ...]:
    """The ways that are tried on `backend`: what needs no engine is not paid for twice."""
    return tuple(way for way in ways if backend in way.on)


def agents(prelude: str, ways: Sequence[Way]) -> str:
    """Source of agents: `prelude`, and `run`, which does a task in the task's way. Indented as `project` takes it."""
    bodies = [f"    def {_function(way)}(tools):\n        {way.body}\n" for way in ways]
    names = ", ".join(f"{way.name!r}: {_function(way)}" for way in ways)
    run = f"    def run(task, tools, rng):\n        return {{{names}}}[task['way']](tools)\n"
    return "\n".join([prelude, *bodies, run])


def by_ways(
    directory: Path, backend: str, ways: Sequence[Way], *, world: str, agent: str, baseline: str, **changes: Any
) -> Path:
    """A descriptor in which pair i does the task of way i; `baseline` and `run` are functions of `agent`.

    World and oracle (`world:open_world`, `world:judge`) and the agents have a folder, and so an image, each.
    """
    project(directory, {"world/world.py": world, "agents/agent.py": agent})
    document = {
        "tasks": [{"id": way.name, "task": {"way": way.name}} for way in ways],
        "toolset": "world:open_world",
        "contract": {"oracle": "world:judge"},
        "baseline": {"label": "baseline", "agent": f"agent:{baseline}", "context": "agents"},
        "candidate": {"label": "candidate", "agent": "agent:run", "context": "agents"},
        "images": {"project": {"build": {"context": "world"}}},
        "n_per_arm": len(ways),
        "isolation": backend,
        **changes,
    }
    return descriptor(directory, document)


def check(way: Way, found: Mapping[str, Mapping[str, Any]]) -> None:
    """The candidate's trial of that task ended as it should, and the honest one beside it passed."""
    honest = next(r for r in found.values() if r["task_id"] == way.name and r["arm"] == "baseline")
    assert honest["outcome"] == "PASS", honest["detail"]
    check_arm(way, found, "candidate")


def check_arm(way: Way, found: Mapping[str, Mapping[str, Any]], arm: str) -> None:
    """The arm's trial of that task ended as it should."""
    record = next(r for r in found.values() if r["task_id"] == way.name and r["arm"] == arm)
    blame = None if way.outcome == "PASS" else way.blame
    assert (record["outcome"], record["ending"], record["blame"]) == (way.outcome, way.ending, blame), record["detail"]
    assert way.detail in record["detail"]
    if way.exit_code is not None:
        assert record["agent"]["exit_code"] == way.exit_code
    if way.signal is not None:
        assert record["agent"]["signal"] == way.signal


def _function(way: Way) -> str:
    return way.name.replace("-", "_")
