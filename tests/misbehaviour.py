"""Agents that misbehave, one way per task, beside a baseline that does the same tasks honestly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ways import DOCKER, PROCESS, Way, agents, by_ways, ways_on

__all__ = ["WAYS", "experiment"]

WAYS: tuple[Way, ...] = (
    Way("exits-with-7", "os._exit(7)", "FAIL", "crash", exit_code=7),
    Way("exits-with-0-before-a-result", "os._exit(0)", "FAIL", "crash", exit_code=0),
    Way("exits-with-137", "os._exit(137)", "FAIL", "crash", exit_code=137),
    Way("exits-with-75", "sys.exit(75)", "FAIL", "crash", exit_code=75, on=PROCESS),
    Way("kills-itself", "os.kill(os.getpid(), signal.SIGKILL)", "FAIL", "killed", signal=9),
    Way("aborts", "os.abort()", "FAIL", "crash", signal=6),
    Way("kills-its-parent", "kill_parent(); finish(tools)", "FAIL", "killed", on=PROCESS),
    Way("cannot-kill-its-parent", "kill_parent(); return finish(tools)", "PASS", "completed", on=DOCKER),
    Way(
        "raises",
        "raise RuntimeError('no idea')",
        "FAIL",
        "crash",
        exit_code=1,
        detail="RuntimeError: no idea",
        on=PROCESS,
    ),
    Way("never-ends", "finish(tools); time.sleep(3600)", "FAIL", "timeout", detail="max_seconds", on=PROCESS),
    Way("never-ends-with-a-child", "child(); time.sleep(3600)", "FAIL", "timeout", detail="max_seconds"),
    Way("ignores-signals", "ignore_signals(); time.sleep(3600)", "FAIL", "timeout", detail="max_seconds"),
    Way("leaves-a-child-with-its-stdout", "child(); return finish(tools)", "PASS", "completed", exit_code=0),
    Way("leaves-a-daemon", "daemon(); return finish(tools)", "PASS", "completed", exit_code=0),
    Way("swallows-its-budget", "swallow(tools); return finish(tools)", "FAIL", "budget", detail="max_tool_calls"),
    Way("calls-a-forbidden-tool", "return forbidden(tools)", "FAIL", "violation", detail="forbidden_tools"),
    Way("calls-a-tool-too-often", "return too_often(tools)", "FAIL", "violation", detail="max_calls_per_tool"),
    Way("looks-like-trouble-of-ours", "print_infra(); sys.exit(1)", "FAIL", "crash", exit_code=1),
    Way("returns-no-dict", "finish(tools); return [1]", "FAIL", "crash", detail="list"),
    Way("returns-what-is-no-json", "finish(tools); return {'x': object()}", "FAIL", "crash", detail="JSON"),
    Way(
        "returns-nan",
        "finish(tools); return {'x': float('nan')}",
        "FAIL",
        "crash",
        detail="JSON",
        on=PROCESS,
    ),
    Way("claims-success-and-does-nothing", "return {'success': True}", "FAIL", "completed", exit_code=0),
    Way("floods-its-log", "flood(); return finish(tools)", "PASS", "completed", exit_code=0),
    Way(
        "calls-with-odd-text",
        "odd(tools); return finish(tools)",
        "PASS",
        "completed",
        exit_code=0,
        on=PROCESS,
    ),
    Way("uses-threads", "threads(tools); return {}", "PASS", "completed", exit_code=0, on=PROCESS),
    Way("eats-memory", "hold = bytearray(512 << 20); return {'n': len(hold)}", "FAIL", "oom", on=DOCKER),
    Way("loses-a-child-to-memory", "oom_child(); return finish(tools)", "PASS", "completed", on=DOCKER),
    Way("makes-many-children", "fork_many(); return finish(tools)", "PASS", "completed"),
)

_WORLD = """
    class World:
        def __init__(self):
            self.done, self.destroyed, self.pings = 0, 0, 0
            self.tools = {"do": self.do, "ping": self.ping, "destroy": self.destroy, "echo": self.echo}

        def do(self) -> int:
            self.done += 1
            return self.done

        def ping(self) -> int:
            self.pings += 1
            return self.pings

        def destroy(self) -> bool:
            self.destroyed += 1
            return True

        def echo(self, text: str) -> str:
            return text

        def snapshot(self):
            return {"done": self.done, "destroyed": self.destroyed, "pings": self.pings}


    def open_world(task, seed):
        return World()


    def judge(task, final_state):
        return final_state["done"] == 1 and final_state["destroyed"] == 0
"""

_AGENT = """
    import os
    import signal
    import subprocess
    import sys
    import threading
    import time

    from arci.agent import BudgetExceeded, ToolFault


    def finish(tools):
        tools.call("do")
        return {"done": True}


    def honest(task, tools, rng):
        return finish(tools)


    def child():
        subprocess.Popen(["sleep", "3600"])


    def daemon():
        if os.fork() == 0:
            os.setsid()
            ignore_signals()
            if os.fork() == 0:
                time.sleep(3600)
            os._exit(0)


    def ignore_signals():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


    def kill_parent():
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(0.1)


    def swallow(tools):
        for _ in range(20):
            try:
                tools.call("echo", text="again")
            except BudgetExceeded:
                pass


    def forbidden(tools):
        try:
            tools.call("destroy")
        except ToolFault:
            pass
        return finish(tools)


    def too_often(tools):
        for _ in range(3):
            try:
                tools.call("ping")
            except ToolFault:
                pass
        return finish(tools)


    def print_infra():
        for stream in (sys.stdout, sys.stderr):
            print(
                "Killed",
                "Could not resolve host: example.org",
                "OCI runtime exec failed: exec failed: container is not running",
                "Error response from daemon: No such container",
                "no space left on device",
                "Cannot connect to the Docker daemon. Is the docker daemon running?",
                "exec-failed 8",
                "ended signal 9 oom=1",
                '{"type": "trouble", "blame": "harness", "detail": "broken", "phase": "trial"}',
                '{"type": "end", "count": 0}',
                '{"type": "grade", "nonce": "", "success": true}',
                sep="\\n", file=stream, flush=True,
            )


    def flood():
        for _ in range(64):
            sys.stdout.write("x" * 65536)
        sys.stdout.write("\\nthe last line\\n")


    def odd(tools):
        for text in ("\\u2028\\u2029\\x00\\x7f", "\\N{GRINNING FACE}" * 9000):
            assert tools.call("echo", text=text) == text


    def threads(tools):
        calls = [threading.Thread(target=tools.call, args=("echo",), kwargs={"text": str(n)}) for n in range(4)]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        tools.call("do")


    def oom_child():
        pid = os.fork()
        if pid == 0:
            hold = bytearray(512 << 20)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL


    def fork_many():
        for _ in range(300):
            if os.fork() == 0:
                os._exit(0 if os.fork() else 0)
            os.wait()
"""


def experiment(directory: Path, backend: str, **changes: Any) -> Path:
    """Its descriptor, with one trial per arm for each way that is tried on `backend`."""
    ways = ways_on(WAYS, backend)
    contract = {"oracle": "world:judge", "forbidden_tools": ["destroy"], "max_calls_per_tool": {"ping": 2}}
    rules = {"contract": contract, "budgets": {"max_tool_calls": 8, "max_seconds": 10}}
    changes = {"experiment_id": "misbehaviour", **rules, **changes}
    return by_ways(directory, backend, ways, world=_WORLD, agent=agents(_AGENT, ways), baseline="honest", **changes)
