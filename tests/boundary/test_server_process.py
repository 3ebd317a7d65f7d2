"""MCP servers as real processes under a real recorder: what they are given, how they die, what is left of them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_host import DEADLINE_S, PYTHON, Client, Recorder
from small_server import SERVER

from arci.boundary.launch_server import kill_all_of
from arci.boundary.message import Ended, Launch, LaunchFailed
from arci.boundary.processes import Processes

UID = 54321


def shared_python() -> str | None:
    """A Python that another user can run; None where there is none, or no user can be changed to."""
    for path in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run([path, "-c", "import ctypes, json"], user=UID, group=UID, cwd="/", check=True)
            return path
    return None


SHARED = shared_python()
needs_users = pytest.mark.skipif(SHARED is None, reason="only root can give a server another uid, and a Python for it")


def begun(bench: Any, *servers: dict[str, Any], uid: int | None = None, **begin: Any) -> Recorder:
    recorder: Recorder = bench.recorder(toolset=None, uid=uid)
    recorder.begin(servers=servers, **begin)
    while recorder.next()["type"] != "initial_state":
        assert recorder.frames[-1]["type"] != "trouble", recorder.frames[-1]
    return recorder


def shared_server(bench: Any, name: str) -> dict[str, Any]:
    """One that another user can run, with a place in which it can make its directory."""
    for directory in (bench.directory, *bench.directory.parents[:2]):
        directory.chmod(directory.stat().st_mode | 0o055)
    (bench.directory / "work").mkdir(exist_ok=True)
    (bench.directory / "work").chmod(0o1777)
    bench.write(name, SERVER)
    server: dict[str, Any] = bench.server(name, SHARED, "-I", "-S", str(bench.directory / f"{name}.py"))
    return server


def client(recorder: Recorder, name: str = "small") -> Client:
    return recorder.connect(f"ARCI mcp agent-token {name}\n".encode())


def value(client: Client, tool: str, **arguments: Any) -> Any:
    return client.call(tool, **arguments)["structuredContent"]


def fifo_of(directory: Path) -> tuple[Path, int]:
    """A pipe with a name: whoever holds its other end is alive as long as it does not end."""
    path = directory / "fifo"
    os.mkfifo(path)
    path.chmod(0o666)
    return path, os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def wait_until_held(fd: int) -> None:
    """Until somebody holds the other end of a named pipe: before, there would be no end of that to wait for."""
    assert select.select([fd], [], [], DEADLINE_S)[0], "nobody holds it"
    assert os.read(fd, 4) == b"held"


def wait_for_end(fd: int) -> None:
    """Until nobody holds the other end of a named pipe any more."""
    deadline = time.monotonic() + DEADLINE_S
    data = b"held"
    while data:
        ready, _, _ = select.select([fd], [], [], deadline - time.monotonic())
        assert ready, "somebody is still there"
        data = os.read(fd, 100)
    os.close(fd)


def test_a_server_has_its_own_directory_environment_and_streams_and_nothing_of_the_recorders(bench: Any) -> None:
    server = bench.script("small", SERVER, env={"MODE": "test"})
    recorder = begun(bench, server, task={"order_id": "order-7", "text": "caf\u00e9"})
    found = value(client(recorder), "look")
    assert found["cwd"] == server["workdir"]
    assert found["fds"] == [0, 1, 2, 3]  # the last is the listing's own
    assert found["leads"] is True
    env = found["env"]
    own = {name: env.pop(name) for name in ("HOME", "MODE", "ARCI_TASK_FILE", "ARCI_SEED", "PATH", "TMPDIR", "LANG")}
    assert (own["HOME"], own["MODE"], own["ARCI_SEED"]) == (server["workdir"], "test", "7")
    assert own["ARCI_TASK_FILE"] == server["task_file"]
    assert json.loads(env.pop("ARCI_TASK")) == found["task"] == {"order_id": "order-7", "text": "caf\u00e9"}
    assert {name for name in env if name != "LC_CTYPE"} == set()  # Python sets that one itself
    assert recorder.finish() == {"small": {}}
    assert [(e["steps"], e["how"]) for e in recorder.events("environment_end")] == [(["stdin"], "exit status 0")]
    assert recorder.close() == 0


def test_a_server_ignores_no_signal_that_the_recorder_ignores(bench: Any) -> None:
    recorder = bench.recorder(toolset=None)
    recorder.begin(servers=[bench.server("shell", "sh", "-c", "grep SigIgn /proc/self/status >&2")])
    name, mask = recorder.until("trouble")["stderr"].split()
    # 32 and 33 belong to the C library, whose posix_spawn ignores them (as make does it); it lets nobody set them.
    of_the_library = 1 << 31 | 1 << 32
    assert (name, int(mask, 16) & ~of_the_library) == ("SigIgn:", 0)


@needs_users
def test_each_server_has_a_user_id_of_its_own(bench: Any) -> None:
    recorder = begun(bench, shared_server(bench, "a"), shared_server(bench, "b"), uid=UID)
    for name, uid in (("a", UID), ("b", UID - 1)):
        found = value(client(recorder, name), "look")
        assert found["ids"] == [uid] * 6
        assert (bench.directory / "work" / name).stat().st_uid == uid
    recorder.finish()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["/nonexistent/program"], "run '/nonexistent/program': No such file or directory (errno 2)"),
        (["no-such-program-at-all"], "run 'no-such-program-at-all': No such file or directory (errno 2)"),
        (["/"], "run '/': Permission denied (errno 13)"),
    ],
)
def test_a_program_that_cannot_be_run_is_told_with_errno_and_name(bench: Any, argv: list[str], words: str) -> None:
    recorder = bench.recorder(toolset=None)
    recorder.begin(servers=[bench.server("bad", *argv)])
    trouble = recorder.until("trouble")
    assert (trouble["blame"], trouble["phase"], trouble["server"]) == ("environment", "setup", "bad")
    assert words in trouble["detail"]


def test_a_directory_that_cannot_be_made_is_told_too(bench: Any) -> None:
    recorder = bench.recorder(toolset=None)
    recorder.begin(servers=[bench.server("bad", "true", workdir="/proc/nosuch/place")])
    assert "make the directory '/proc/nosuch/place'" in recorder.until("trouble")["detail"]


def test_a_server_that_ends_at_once_is_trouble_with_its_status_and_its_last_words(bench: Any) -> None:
    recorder = bench.recorder(toolset=None)
    recorder.begin(servers=[bench.server("bad", "sh", "-c", "echo no license >&2; exit 7")])
    trouble = recorder.until("trouble")
    assert "ended by itself: exit status 7" in trouble["detail"]
    assert trouble["stderr"] == "no license\n"


def test_a_server_that_dies_of_the_first_probe_is_started_again(bench: Any) -> None:
    recorder = begun(bench, bench.script("small", SERVER, "strict"))
    assert value(client(recorder), "echo", x=1) == {"echo": {"x": 1}}
    ready = next(f for f in recorder.frames if f["type"] == "ready")
    assert [(s["era"], s["revision"]) for s in ready["servers"]] == [("legacy", "2025-06-18")]
    recorder.finish()


def test_a_server_killed_in_mid_call_fails_the_call_with_its_status_and_last_words(bench: Any) -> None:
    recorder = begun(bench, bench.script("small", SERVER))
    agent = client(recorder)
    assert agent.call("die")["isError"] is True
    trouble = recorder.until("trouble")
    assert (trouble["server"], trouble["during_call"]) == ("small", True)
    assert trouble["detail"] == "server 'small' ended by itself: killed by signal 9"
    assert trouble["stderr"] == "about to die\n"
    assert agent.call("echo")["isError"] is True
    assert recorder.close() == 0


def test_a_server_that_heeds_neither_the_end_of_its_input_nor_term_is_killed(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SERVER)
    argv = [PYTHON, "-I", "-S", str(tmp_path / "small.py"), "stubborn"]
    processes = Processes(None)
    assert processes.launch(Launch("small", argv, {}, str(tmp_path), number=0)) == []
    processes.end_input("small")
    said = Pump(processes)
    said.until(lambda: "still here" in processes.tail("small"))
    processes.signal("small", 15)
    assert processes.reap() == []
    processes.signal("small", 9)
    said.until(lambda: bool(said.ended))
    assert said.ended == [Ended("small", "killed by signal 9")]
    assert processes.patience_s is None


class Pump:
    """Polls processes, as the recorder's loop does."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.ended: list[Ended] = []

    def until(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not is_done():
            assert time.monotonic() < deadline
            poll = select.poll()
            for fd, events in self._processes.interests(False):
                if fd > 2:
                    poll.register(fd, events)
            for fd, _ in poll.poll(10):
                self._processes.ready(fd)
            self.ended += [m for m in self._processes.reap() if isinstance(m, Ended)]


def test_what_a_server_leaves_behind_in_its_group_ends_with_it(bench: Any) -> None:
    source = SERVER.replace("            os.setsid()\n", "")
    fifo, held = fifo_of(bench.directory)
    recorder = begun(bench, bench.script("small", source))
    value(client(recorder), "hold", fifo=str(fifo))
    wait_until_held(held)
    recorder.finish()
    wait_for_end(held)


@needs_users
def test_what_has_left_the_group_ends_too_where_a_server_has_a_user_id_of_its_own(bench: Any) -> None:
    fifo, held = fifo_of(bench.directory)
    recorder = begun(bench, shared_server(bench, "small"), uid=UID - 2)
    value(client(recorder), "hold", fifo=str(fifo))
    wait_until_held(held)
    recorder.finish()
    wait_for_end(held)


@needs_users
def test_a_server_that_has_used_up_all_process_numbers_is_killed_all_the_same(monkeypatch: Any) -> None:
    def no_fork() -> int:
        raise BlockingIOError(11, "no process number is left")

    assert SHARED is not None
    running = subprocess.Popen([SHARED, "-c", "import signal; signal.pause()"], user=UID - 3, group=UID - 3, cwd="/")
    monkeypatch.setattr(os, "fork", no_fork)
    kill_all_of(UID - 3)
    assert running.wait(DEADLINE_S) == -9


@needs_users
def test_a_snapshot_that_ends_under_the_user_id_of_its_server_leaves_it_alive(tmp_path: Path) -> None:
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(directory.stat().st_mode | 0o055)
    processes = Processes(UID - 4)
    assert processes.launch(Launch("one", ["cat"], {}, str(tmp_path), number=0)) == []
    assert processes.launch(Launch("one/snapshot", ["true"], {}, str(tmp_path), number=0)) == []
    pump = Pump(processes)
    pump.until(lambda: bool(pump.ended))
    assert pump.ended == [Ended("one/snapshot", "exit status 0")]
    processes.ask("one", b"still here")
    processes.end_input("one")
    pump.until(lambda: len(pump.ended) == 2)
    assert pump.ended[1:] == [Ended("one", "exit status 0")]


def test_a_server_for_which_no_process_number_is_left_is_told(monkeypatch: Any, tmp_path: Path) -> None:
    def no_fork() -> int:
        raise BlockingIOError(11, "no process number is left")

    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    monkeypatch.setattr(os, "fork", no_fork)
    failed = Processes(None).launch(Launch("small", ["true"], {}, str(tmp_path), number=0))
    assert failed == [LaunchFailed("small", "fork: Resource temporarily unavailable (errno 11)")]
    # None is new; what an earlier test has left to the collector may be closed meanwhile.
    assert {path.name for path in Path("/proc/self/fd").iterdir()} <= before


def test_nothing_is_read_of_servers_while_their_answers_are_not_taken(tmp_path: Path) -> None:
    processes = Processes(None)
    assert processes.launch(Launch("small", ["cat"], {}, str(tmp_path), number=0)) == []
    assert len(processes.interests(False)) == len(processes.interests(True)) + 1
    processes.end()
    assert processes.patience_s is None


def test_servers_end_when_the_recorder_is_killed(bench: Any) -> None:
    fifo, held = fifo_of(bench.directory)
    source = SERVER.replace("        holder = os.fork()\n", "        holder = 0\n").replace("os.close(fd)", "pass")
    source = source.replace('os.write(held, b"held")', 'say(id=id, result={"content": []})')
    recorder = begun(bench, bench.script("small", source.replace("            os.setsid()\n", "")))
    client(recorder).call("hold", fifo=str(fifo))
    recorder.process.kill()
    wait_for_end(held)


def test_a_thousand_notices_and_a_large_answer_reach_a_client_that_reads_slowly_in_their_order(bench: Any) -> None:
    recorder = begun(bench, bench.script("small", SERVER))
    agent = client(recorder)
    agent.ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x", "version": "1"})
    agent.frame()
    agent.ask(2, "tools/call", name="progress", arguments={}, _meta={"progressToken": "p"})
    found = [agent.frame() for _ in range(1001)]
    assert [f["params"]["progress"] for f in found[:-1]] == list(range(1000))
    assert len(found[-1]["result"]["structuredContent"]["big"]) == 5 << 20
    recorder.finish()


@pytest.mark.parametrize("size", [65_536 - 1, 65_536, 65_536 + 1, (8 << 20) - 1000])
def test_large_answers_pass_through_real_pipes(bench: Any, size: int) -> None:
    recorder = begun(bench, bench.script("small", SERVER))
    agent = client(recorder)
    assert len(value(agent, "big", bytes=size)["big"]) == size
    assert value(agent, "echo", n=1) == {"echo": {"n": 1}}
    recorder.finish()


def test_a_server_that_connects_is_half_closed_at_the_end(bench: Any) -> None:
    recorder = bench.recorder(toolset=None)
    recorder.begin(servers=[{**bench.server("box"), "argv": None}])
    recorder.say(type="nonsense")
    recorder.until("trouble", blame="harness")  # by now it listens
    box = recorder.connect(b"ARCI environment environment-token box\n")
    answers: dict[str, dict[str, Any]] = {
        "server/discover": {"error": {"code": -32601, "message": "no"}},
        "initialize": {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}},
        "tools/list": {"result": {"tools": []}},
    }
    while "ready" not in [f["type"] for f in recorder.frames]:
        frame = box.frame()
        if "id" in frame:
            box.send(json.dumps({"jsonrpc": "2.0", "id": frame["id"], **answers[frame["method"]]}).encode() + b"\n")
        if frame["method"] == "tools/list":
            recorder.until("initial_state")
    recorder.say(type="agent_gone")
    assert box.line() == b""
    box.close()
    assert recorder.until("final_state")["state"] == {"box": {}}
    recorder.until("end")


SNAP = """
import os


def take(task, workdir):
    print("a print is no frame")
    return {"task": task, "files": {n: open(os.path.join(workdir, n)).read() for n in sorted(os.listdir(workdir))}}


def fail(task, workdir):
    raise KeyError("x")


def odd(task, workdir):
    return [1]


def circle(task, workdir):
    state = {}
    state["again"] = state
    return state
"""


def test_a_snapshot_function_reads_what_the_server_has_written_before_and_after(bench: Any) -> None:
    bench.write("snap", SNAP)
    recorder = begun(bench, bench.script("small", SERVER, snapshot={"kind": "python", "ref": "snap:take"}))
    task = {"order_id": "order-7"}
    assert recorder.frames[-1]["state"] == {"small": {"task": task, "files": {}}}
    value(client(recorder), "write", path="a.txt", text="hello")
    assert recorder.finish() == {"small": {"task": task, "files": {"a.txt": "hello"}}}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fail", "KeyError: 'x'"),
        ("odd", "snap:odd returned list; a dict is required"),
        ("circle", "snap:circle returned what is not JSON"),
        ("nosuch", "AttributeError"),
    ],
)
def test_a_snapshot_function_that_fails_is_the_environments_trouble(bench: Any, name: str, words: str) -> None:
    bench.write("snap", SNAP)
    recorder = bench.recorder(toolset=None)
    recorder.begin(servers=[bench.script("small", SERVER, snapshot={"kind": "python", "ref": f"snap:{name}"})])
    trouble = recorder.until("trouble")
    assert (trouble["blame"], trouble["server"]) == ("environment", "small")
    assert words in trouble["detail"]
