"""An experiment whose agents sleep until they are stopped: to stop a run in the middle of trials. Data for tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

from e2e import descriptor, project, start_arci, started, until

__all__ = ["AT_ONCE", "asleep", "sleepers"]

AT_ONCE = 4
"""Trials that run at the same time."""

_WORLD = """
    class World:
        def __init__(self):
            self.calls = 0
            self.tools = {"call": self.call}

        def call(self) -> int:
            self.calls += 1
            return self.calls

        def snapshot(self):
            return {"calls": self.calls}


    def open_world(task, seed):
        return World()


    def judge(task, final_state):
        return final_state["calls"] == 1
"""
_AGENT = """
    import signal
    import subprocess
    import time


    def run(task, tools, rng):
        tools.call("call")
        if task["sleep"]:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            subprocess.Popen(["sleep", "3600"])
            time.sleep(3600)
        return {}
"""


def sleepers(directory: Path, backend: str, *, sleep: bool = True) -> Path:
    """The descriptor, in `directory`. `sleep=False` is the same experiment awake: another task, so another seal."""
    project(directory, {"world/world.py": _WORLD, "agents/agent.py": _AGENT})
    arm = {"agent": "agent:run", "context": "agents"}
    document = {
        "experiment_id": "sleepers",
        "task": {"sleep": sleep},
        "toolset": "world:open_world",
        "contract": {"oracle": "world:judge"},
        "baseline": {"label": "one", **arm},
        "candidate": {"label": "two", **arm},
        "images": {"project": {"build": {"context": "world"}}},
        "budgets": {"max_seconds": 3600},
        "n_per_arm": AT_ONCE,
        "isolation": backend,
    }
    return descriptor(directory, document)


def asleep(directory: Path, backend: str) -> tuple[subprocess.Popen[str], Path]:
    """`arci run` on it, with `AT_ONCE` agents started: the process, and the run directory."""
    out = directory / "runs"
    process = start_arci("run", sleepers(directory, backend), "--workers", AT_ONCE, "--out", out)
    run = out / "sleepers"
    try:
        until(lambda: process.poll() is not None or len(started(run)) == AT_ONCE, 120.0)
        assert process.poll() is None, process.communicate()
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return process, run
