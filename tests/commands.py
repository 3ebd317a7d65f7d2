"""An experiment of commands that misuse their tools, a way per task, beside a baseline that does the same honestly."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from e2e import descriptor, project, records
from ways import DOCKER, Way, ways_on

from arci.store.reader import read_events

__all__ = ["WAYS", "executed", "experiment"]


def _passes(name: str) -> Way:
    return Way(name, "", "PASS", "completed", exit_code=0)


WAYS: tuple[Way, ...] = (
    Way("never-connects", "", "FAIL", "completed", exit_code=0),
    Way("leaves-with-3", "", "FAIL", "crash", exit_code=3),
    _passes("kills-its-shim"),
    _passes("kills-its-shim-in-a-call"),
    _passes("freezes-its-shim"),
    _passes("leaves-in-a-call"),
    _passes("opens-500-connections"),
    _passes("reconnects-for-each-call"),
    _passes("sends-a-batch"),
    _passes("sends-garbage"),
    _passes("uses-an-id-twice"),
    _passes("nests-200-levels"),
    _passes("ends-within-a-frame"),
    Way("sends-half-a-frame-alone", "", "FAIL", "completed", exit_code=0),
    _passes("writes-an-endless-line"),
    Way("floods-for-ever", "", "FAIL", "budget", detail="traffic_bytes"),
    _passes("closes-its-stdin-at-once"),
    _passes("leaves-a-daemon-that-calls"),
    _passes("never-reads"),
    _passes("opens-50-slow-requests"),
    Way("never-ends", "", "FAIL", "timeout", detail="max_seconds", on=DOCKER),
)
"""What each does is a function of that name in `data/odd_agent.py`."""

_AGENT = Path(__file__).parent / "data" / "odd_agent.py"
_WORLD = """
    import time


    class World:
        def __init__(self):
            self.done, self.pings = 0, 0
            self.tools = {"do": self.do, "do_slowly": self.do_slowly, "ping": self.ping}

        def do(self) -> int:
            self.done += 1
            return self.done

        def do_slowly(self) -> int:
            time.sleep(0.5)
            return self.do()

        def ping(self) -> int:
            self.pings += 1
            return self.pings

        def snapshot(self):
            return {"done": self.done, "pings": self.pings}


    def open_world(task, seed):
        return World()


    def judge(task, final_state):
        return final_state["done"] == 1
"""


def experiment(directory: Path, backend: str) -> Path:
    """Its descriptor, with one trial per arm for each way that is tried on `backend`."""
    project(directory, {"world/world.py": _WORLD})
    (directory / "agents").mkdir()
    shutil.copy(_AGENT, directory / "agents")
    ways = ways_on(WAYS, backend)
    document = {
        "experiment_id": "commands",
        "tasks": [{"id": way.name, "task": {"way": way.name}} for way in ways],
        "toolset": "world:open_world",
        "oracle": "world:judge",
        "baseline": _arm("honest"),
        "candidate": _arm("odd"),
        "images": {"project": {"build": {"context": "world"}}},
        "budgets": {"max_tool_calls": 100_000, "max_seconds": 15, "tool_seconds": 10},
        "n_per_arm": len(ways),
        "isolation": backend,
    }
    return descriptor(directory, document)


def _arm(how: str) -> dict[str, Any]:
    argv = ["python3", "-I", "-S", "{source}/odd_agent.py", "{task_file}", how]
    return {"label": how, "command": {"argv": argv}, "context": "agents"}


def executed(run: Path, name: str) -> tuple[dict[str, int], dict[str, int]]:
    """The candidate's calls of that task as they were recorded as executed, by what they count, and its final state."""
    (record,) = [r for r in records(run).values() if r["task_id"] == name and r["arm"] == "candidate"]
    found = {"done": 0, "pings": 0}
    for event in read_events(run, record["trial_id"]):
        if event["kind"] in ("tool_finish", "tool_late") and event.get("executed", True):
            found["pings" if event["tool"] == "ping" else "done"] += 1
    return found, record["final_state"]
