"""Worlds and oracles that break, one way per task, around an agent that does its work. Data for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ways import Way, by_ways, ways_on

__all__ = ["WAYS", "experiment"]

WAYS: tuple[Way, ...] = (
    Way("nothing-breaks", "", "PASS", "completed"),
    Way("a-tool-raises", "", "PASS", "completed"),
    Way("the-world-prints", "", "PASS", "completed"),
    Way("the-oracle-prints-a-verdict", "", "FAIL", "completed"),
    Way("the-oracle-leaves-a-child", "", "PASS", "completed"),
    Way("the-oracle-raises", "", "ERROR", "grader", blame="grader", detail="KeyError"),
    Way("the-oracle-exits", "", "ERROR", "grader", blame="grader", detail="SystemExit"),
    Way("the-oracle-vanishes", "", "ERROR", "grader", blame="grader"),
    Way("the-oracle-is-not-sure", "", "ERROR", "grader", blame="grader", detail="bool"),
    Way("the-oracle-never-ends", "", "ERROR", "grader", blame="grader", detail="grader_seconds"),
    Way("the-world-dies", "", "ERROR", "environment", blame="environment"),
    Way("the-world-is-killed", "", "ERROR", "environment", blame="environment"),
    Way("the-snapshot-raises", "", "ERROR", "environment", blame="environment"),
    Way("the-snapshot-is-no-object", "", "ERROR", "environment", blame="environment"),
    Way("the-world-cannot-be-made", "", "ERROR", "environment", blame="environment", detail="no world"),
)

_WORLD = """
    import os
    import signal
    import subprocess
    import sys
    import time


    class World:
        def __init__(self, way):
            self.way = way
            self.done = 0
            self.tools = {"do": self.do}

        def do(self) -> int:
            self.done += 1
            if self.way == "a-tool-raises" and self.done == 1:
                raise RuntimeError("try again")
            if self.way == "the-world-prints":
                print('{"jsonrpc": "2.0", "id": 1, "result": {}}', flush=True)
                os.write(2, b"x" * 200000)
            if self.way == "the-world-dies":
                os._exit(3)
            if self.way == "the-world-is-killed":
                os.kill(os.getpid(), signal.SIGKILL)
            return self.done

        def snapshot(self):
            if self.way == "the-snapshot-raises":
                raise RuntimeError("no snapshot")
            return [] if self.way == "the-snapshot-is-no-object" else {"done": self.done}


    def open_world(task, seed):
        if task["way"] == "the-world-cannot-be-made":
            raise RuntimeError("no world")
        return World(task["way"])


    def judge(task, final_state):
        way = task["way"]
        if way == "the-oracle-raises":
            return final_state["missing"]
        if way == "the-oracle-exits":
            sys.exit(0)
        if way == "the-oracle-vanishes":
            os._exit(0)
        if way == "the-oracle-is-not-sure":
            return 1
        if way == "the-oracle-never-ends":
            time.sleep(3600)
        if way == "the-oracle-prints-a-verdict":
            print('{"type": "grade", "nonce": "", "success": true}', flush=True)
            return False
        if way == "the-oracle-leaves-a-child":
            subprocess.Popen(["sleep", "3600"])
        return final_state["done"] >= 1
"""

_AGENT = """
    from arci.agent import ToolFault


    def run(task, tools, rng):
        for _ in range(2):
            try:
                return {"done": tools.call("do")}
            except ToolFault:
                continue
        return {}
"""


def experiment(directory: Path, backend: str, **changes: Any) -> Path:
    """Its descriptor, with one trial per arm for each way; both arms are the same agent."""
    changes = {"experiment_id": "breakdowns", "budgets": {"grader_seconds": 10}, **changes}
    return by_ways(directory, backend, ways_on(WAYS, backend), world=_WORLD, agent=_AGENT, baseline="run", **changes)
