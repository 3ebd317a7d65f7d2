"""How a real recorder ends, what it tells of the agent, and what keeps its environment out of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_host import DEADLINE_S, result_of

ROOT = Path(__file__).parents[2]


def processes_of(group: int) -> list[int]:
    """Pids of the processes of a group that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry.name))
    return found


# Its own end


def test_end_of_stdin_ends_it_and_an_environment_that_never_answers(bench: Any) -> None:
    bench.write(
        "world",
        """
        import subprocess, time

        class World:
            def __init__(self, task, seed):
                self.tools = {"hang": self.hang}

            def hang(self):
                subprocess.Popen(["sleep", "1000"])
                while True:
                    time.sleep(1000)

            def snapshot(self):
                return {}

        make = World
        """,
    )
    recorder = bench.ready()
    client = recorder.connect()
    client.ask(1, "tools/call", name="hang")
    recorder.until("event")
    assert recorder.close() == 0
    assert client.line() == b""
    wait_until_gone(recorder.process.pid)


def wait_until_gone(group: int) -> None:
    """Until no process of the group runs; the time limit of the test ends what never happens."""
    while processes_of(group):
        os.sched_yield()


def test_stop_ends_it_at_once(bench: Any) -> None:
    recorder = bench.recorder()
    recorder.say(type="stop")
    assert recorder.process.wait(60) == 0


def test_a_recorder_that_is_killed_takes_its_environment_with_it(bench: Any) -> None:
    recorder = bench.ready()
    os.kill(recorder.process.pid, signal.SIGKILL)
    wait_until_gone(recorder.process.pid)
    assert recorder.process.wait(60) == -signal.SIGKILL


def test_it_stays_after_the_end_until_it_is_stopped(bench: Any) -> None:
    recorder = bench.ready()
    recorder.finish()
    assert recorder.process.poll() is None
    recorder.say(type="stop")
    assert recorder.process.wait(60) == 0


def test_an_address_that_cannot_be_had_is_the_harness_trouble(bench: Any) -> None:
    recorder = bench.recorder()
    recorder.address = "unix:/nosuchdirectory/s"
    recorder.begin()
    trouble = recorder.until("trouble")
    assert (trouble["blame"], "FileNotFoundError" in trouble["detail"]) == ("harness", True)
    assert recorder.process.wait(60) == 70


def test_a_control_frame_that_is_no_json_is_the_harness_trouble(bench: Any) -> None:
    recorder = bench.recorder()
    assert recorder.process.stdin is not None
    recorder.process.stdin.write(b"nonsense\n")
    recorder.process.stdin.flush()
    assert recorder.until("trouble")["blame"] == "harness"


@pytest.mark.parametrize("status", ["ended exit 0 oom=0", None])
def test_the_status_connection_is_told_to_the_host(bench: Any, status: str | None) -> None:
    recorder = bench.ready()
    init = recorder.connect(b"ARCI status status-token\n")
    init.send(b"started\n")
    recorder.until("status", status="started")
    if status is not None:
        init.send(status.encode() + b"\n")
    init.close()
    recorder.until("status", status="lost" if status is None else "ended")


def test_a_custom_fault_is_loaded_from_the_users_code(bench: Any) -> None:
    bench.write(
        "faults",
        """
        from arci.faults.action import Replace

        class Shift:
            def __init__(self, params):
                self.by = params["by"]

            def before(self, call, rng):
                print("a print of a fault")

            def after(self, call, answer, rng):
                return Replace(answer.value + self.by)

        make = Shift
        """,
    )
    shift = {"name": "faults:make", "tool": "get_stock", "occurrence": {"kind": "every", "n": 0}, "params": {"by": 5}}
    recorder = bench.ready(faults=[shift])
    assert result_of(recorder.connect().call("get_stock", sku="widget")) == 15
    recorder.finish()
    assert [e["fault"] for e in recorder.events("injection")] == ["faults:make"]


def test_what_a_custom_fault_leaves_running_does_not_hold_back_the_end(bench: Any) -> None:
    bench.write(
        "faults",
        """
        import threading

        class Lingering:
            def __init__(self, params):
                threading.Thread(target=threading.Event().wait).start()

            def before(self, call, rng):
                pass

            after = before

        make = Lingering
        """,
    )
    recorder = bench.ready(faults=[{"name": "faults:make", "tool": None, "occurrence": {"kind": "every", "n": 0}}])
    recorder.finish()
    recorder.close()
    assert recorder.process.wait(DEADLINE_S) == 0


AS_INIT = """
import os, sys
from arci.boundary.environment import Pipes
from arci.boundary.processes import Processes

release, hold = os.pipe()


def child(code):
    pid = os.fork()
    if pid == 0:
        os.close(hold)
        os.read(release, 1)
        os._exit(code)
    return pid


environment = child(7)
port = Processes(None)
port.adopt("tools", Pipes(environment, *(os.open(os.devnull, os.O_RDWR) for _ in range(3))))
os.getpid = lambda: 1
assert port.reap() == []
for n in range(3):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
assert port.reap() == [] and port.patience_s is not None
os.close(hold)
os.waitid(os.P_PID, environment, os.WEXITED | os.WNOWAIT)
print(port.reap(), port.patience_s)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("nobody is left")
"""


def test_as_pid_1_it_collects_every_orphan_and_tells_of_the_environment_alone() -> None:
    found = subprocess.run([sys.executable, "-c", AS_INIT], capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr) == ("[Ended('exit status 7', 'tools')] None\nnobody is left\n", "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give the environment another uid")
def test_the_environment_of_another_uid_cannot_reach_the_recorder(bench: Any, tmp_path: Path) -> None:
    bench.write(
        "world",
        """
        import os

        class World:
            def __init__(self, task, seed):
                self.tools = {"look": self.look}

            def look(self):
                parent, found = os.getppid(), {"ids": [*os.getresuid(), *os.getresgid(), *os.getgroups()]}
                for name in ("mem", "environ", "fd/0", "maps"):
                    try:
                        with open(f"/proc/{parent}/{name}", "rb") as file:
                            file.read(1)
                        found[name] = "read"
                    except OSError as error:
                        found[name] = type(error).__name__
                return found

            def snapshot(self):
                return {}

        make = World
        """,
    )
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == 0 and directory != Path("/"):
            directory.chmod(directory.stat().st_mode | 0o055)
    recorder = bench.recorder(uid=12345, python=sys.executable)
    recorder.begin()
    recorder.until("ready")
    found = result_of(recorder.connect().call("look"))
    assert found.pop("ids") == [12345] * 6
    assert set(found.values()) == {"PermissionError"}


HIDDEN = """
import ctypes
import os

from arci.boundary import recorder

if not {told}:
    recorder._is_hidden_by_a_change_of_uid = lambda: False
before = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
recorder._hide_memory()
print(before, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), os.geteuid(), os.getuid())
"""


@pytest.mark.parametrize("told", [True, False], ids=["by a change of uid", "by a call"])
def test_what_a_recorder_has_in_memory_is_nobody_else_s_to_read(told: bool) -> None:
    """Either way it is not dumpable (prctl(2), PR_GET_DUMPABLE: 1 is), and who it was before."""
    hidden = subprocess.run(
        [sys.executable, "-c", HIDDEN.format(told=told)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    before, after, effective, real = map(int, hidden.stdout.split())
    assert (before, after != 1) == (1, True)
    assert (effective, real) == (os.geteuid(), os.getuid())
