"""The recorder as a process: its environment, its connections under hostile bytes, its own end."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arci.wire.framing import MAX_LINE_BYTES


def result_of(answer: dict[str, Any]) -> Any:
    return answer["structuredContent"]["result"]


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


def test_the_tools_are_described_from_signatures_and_hints(bench: Any) -> None:
    ready = bench.recorder()
    ready.begin()
    tools = {tool["name"]: tool for tool in ready.until("ready")["tools"]}
    assert tools["get_stock"] == {
        "name": "get_stock",
        "description": "How many are left.",
        "inputSchema": {
            "type": "object",
            "properties": {"sku": {"type": "string"}},
            "required": ["sku"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
    }
    assert "outputSchema" not in tools["echo"]


def test_the_socket_can_be_reached_from_another_uid(bench: Any) -> None:
    recorder = bench.ready()
    assert stat.S_IMODE(Path(recorder.address.partition(":")[2]).stat().st_mode) == 0o666


def test_it_listens_on_a_port_too(bench: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    recorder = bench.recorder()
    recorder.address = f"tcp:127.0.0.1:{port}"
    recorder.begin()
    recorder.until("ready")
    assert recorder.run_agent()[0] == 0
    assert recorder.finish()["confirmed"] == ["order-7"]


def test_prints_of_the_environment_disturb_no_frame(bench: Any) -> None:
    bench.write(
        "world",
        """
        import os, subprocess, sys
        print('{"type": "end", "count": 0}')

        class World:
            def __init__(self, task, seed):
                self.tools = {"shout": self.shout}

            def shout(self):
                print("printed")
                os.write(1, b"written\\n")
                subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
                return sys.stdin.read()

            def snapshot(self):
                return {}

        make = World
        """,
    )
    recorder = bench.ready()
    assert result_of(recorder.connect().call("shout")) == ""
    recorder.finish()
    assert recorder.close() == 0
    for words in ("printed", "written", "from a child", '{"type": "end"'):
        assert words in recorder.log()


def test_a_megabyte_of_log_per_call_is_drained_and_capped(bench: Any) -> None:
    bench.write(
        "world",
        """
        import sys

        class World:
            def __init__(self, task, seed):
                self.tools = {"noisy": self.noisy}

            def noisy(self):
                sys.stderr.write("x" * (1 << 20) + "the end")
                return "answered"

            def snapshot(self):
                return {}

        make = World
        """,
    )
    recorder = bench.ready()
    client = recorder.connect()
    assert [result_of(client.call("noisy")) for _ in range(5)] == ["answered"] * 5
    recorder.close()
    assert 200_000 < len(recorder.log()) < 300_000
    assert "the rest of the environment's log is not passed on" in recorder.log()


@pytest.mark.parametrize("size", [2**16 - 1, 2**16, 2**16 + 1, MAX_LINE_BYTES])
def test_answers_of_any_size_pass_whole_and_the_next_call_works(bench: Any, size: int) -> None:
    bench.write(
        "world",
        """
        class World:
            def __init__(self, task, seed):
                self.tools = {"make": lambda size: "x" * size}

            def snapshot(self):
                return {}

        make = World
        """,
    )
    recorder = bench.ready()
    client = recorder.connect()
    assert result_of(client.call("make", size=size)) == "x" * size
    assert result_of(client.call("make", size=3)) == "xxx"
    assert recorder.until("event")["event"]["kind"] == "tool_start"


def test_an_answer_over_the_limit_is_the_tools_error_and_the_next_call_works(bench: Any) -> None:
    bench.write(
        "world",
        """
        class World:
            def __init__(self, task, seed):
                self.tools = {"make": lambda size: "x" * size}

            def snapshot(self):
                return {}

        make = World
        """,
    )
    client = bench.ready().connect()
    answer = client.call("make", size=MAX_LINE_BYTES + 10_000)
    assert answer["isError"]
    assert "tool 'make' returned what is not JSON" in answer["content"][0]["text"]
    assert result_of(client.call("make", size=1)) == "x"


def test_line_separators_pass_as_they_are(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    text = "a\u2028b\u2029c\u0085d\x0be😀"
    line = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"value": text}}},
        ensure_ascii=False,
    ).encode()
    client.send(b"\xef\xbb\xbf" + line + b"\r\n")
    answer = client.line()
    assert "\u2028b\u2029c\u0085d".encode() in answer
    assert result_of(json.loads(answer)["result"]) == text
    assert recorder.until("event")["event"]["arguments"] == {"value": text}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("{1, 2}", "tool 'odd' returned what is not JSON: Object of type set"),
        ("float('nan')", "tool 'odd' returned what is not JSON"),
        ("[float('inf')]", "tool 'odd' returned what is not JSON"),
        ("'\\ud800'", "tool 'odd' returned what is not JSON"),
        ("object()", "tool 'odd' returned what is not JSON: Object of type object"),
        ("__import__('functools').reduce(lambda a, _: [a], range(500), 0)", "nested deeper than 128"),
        ("[].index(1)", "ValueError: 1 is not in list"),
        ("(_ for _ in ()).throw(KeyError('\\ud800'))", "KeyError: "),
    ],
)
def test_what_a_tool_must_not_return_is_its_error_and_no_trouble(bench: Any, expression: str, words: str) -> None:
    bench.write(
        "world",
        f"""
        class World:
            def __init__(self, task, seed):
                self.tools = {{"odd": lambda: {expression}}}

            def snapshot(self):
                return {{}}

        make = World
        """,
    )
    recorder = bench.ready()
    answer = recorder.connect().call("odd")
    assert answer["isError"]
    assert words in answer["content"][0]["text"]
    assert [f for f in recorder.frames if f["type"] == "trouble"] == []


# The environment's death


DYING = """
import os, signal, sys, time


class World:
    def __init__(self, task, seed):
        self.tools = {"die": self.die, "leave": self.leave, "hide": self.hide}

    def die(self):
        sys.stderr.write("last words")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    def leave(self):
        sys.exit(3)

    def hide(self):
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(4)

    def snapshot(self):
        return {}


make = World
"""


@pytest.mark.parametrize(
    ("tool", "how"), [("die", "killed by signal 9"), ("leave", "exit status 3"), ("hide", "exit status 4")]
)
def test_an_environment_that_dies_fails_the_call_and_is_reported(bench: Any, tool: str, how: str) -> None:
    bench.write("world", DYING)
    recorder = bench.ready()
    answer = recorder.connect().call(tool)
    assert (answer["isError"], answer["content"][0]["text"]) == (True, "the environment is gone")
    trouble = recorder.until("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "trial")
    assert how in trouble["detail"]
    assert trouble["stderr"] == ("last words" if tool == "die" else "")
    recorder.finish()


@pytest.mark.parametrize(
    ("source", "words", "log"),
    [
        ("import nosuchmodule", "nosuchmodule", "Traceback"),
        ("x = 1", "has no attribute 'make'", "Traceback"),
        ("make = 5", "int is not callable", "Traceback"),
        ("def make(task, seed):\n    raise KeyError('order_id')", "KeyError: 'order_id'", "Traceback"),
        ("def make(task, seed):\n    return 5", "has no attribute 'tools'", "Traceback"),
        (
            "class make:\n    tools = {'a': 1}\n    snapshot = print\n    __init__ = lambda *a: None",
            ".tools must be",
            "",
        ),
        ("class make:\n    tools = {}\n    snapshot = 1\n    __init__ = lambda *a: None", ".snapshot must be", ""),
        ("import sys\nprint('bye')\nsys.exit(9)", "exit status 9", "bye"),
    ],
)
def test_an_environment_that_cannot_start_is_named_with_its_log(bench: Any, source: str, words: str, log: str) -> None:
    bench.write("world", source)
    recorder = bench.recorder()
    recorder.begin()
    trouble = recorder.until("trouble")
    assert (trouble["blame"], trouble["phase"]) == ("environment", "setup")
    assert words in trouble["detail"]
    assert log in trouble["stderr"]


def test_a_missing_reference_is_named(bench: Any) -> None:
    recorder = bench.recorder(toolset="world")
    recorder.begin()
    assert "module:function is allowed" in recorder.until("trouble")["detail"]


# Hostile connections


def test_hostile_frames_are_answered_and_the_trial_goes_on(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    for line in (
        b"\x00\xff garbage",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"reserve"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"value":NaN}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"value":"\\udc00"}}}',
        b"[" * 200 + b"]" * 200,
        b"{" * 8_000_000,
    ):
        client.send(line + b"\n")
        assert client.frame()["error"]["code"] in (-32700, -32600)
    assert result_of(client.call("echo", value=[1])) == [1]
    assert recorder.finish()["confirmed"] == []
    assert len(recorder.events("protocol")) == 7


@pytest.mark.parametrize("hello", [b"ARCI worker wrong\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 1000])
def test_a_wrong_hello_is_ended_without_a_byte(bench: Any, hello: bytes) -> None:
    assert bench.ready().connect(hello).line() == b""


def peak_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def flood(client: Any, piece: bytes, times: int) -> bool:
    """Whether the recorder has ended the connection."""
    try:
        for _ in range(times):
            client.send(piece)
    except OSError:
        return True
    return client.line() == b""


def test_an_endless_line_is_ended_in_bounded_memory(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    assert flood(client, b"x" * (1 << 20), 200)
    assert peak_kib(recorder.process.pid) < 100 * 1024
    assert result_of(recorder.connect().call("echo", value=1)) == 1


def test_unfinished_lines_of_many_connections_share_one_budget(bench: Any) -> None:
    recorder = bench.ready()
    clients = [recorder.connect() for _ in range(14)]
    for client in clients:
        client.send(b"y" * (7 << 20))
    assert "flooding" in recorder.until("event")["event"]["detail"]
    assert peak_kib(recorder.process.pid) < 160 * 1024
    assert result_of(recorder.connect().call("echo", value=1)) == 1


def send_until_full(client: Any, data: bytes) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            client.socket.send(data)


def test_who_does_not_read_is_not_read_from(bench: Any) -> None:
    recorder = bench.ready()
    client = recorder.connect()
    client.socket.settimeout(0.0)
    ping = b'{"jsonrpc":"2.0","id":"' + b"p" * 4000 + b'","method":"ping"}\n'
    send_until_full(client, ping)
    other = recorder.connect()
    for n in range(20):
        assert result_of(other.call("echo", value=n)) == n
    send_until_full(client, ping)
    assert peak_kib(recorder.process.pid) < 100 * 1024


def test_more_connections_than_are_served_wait_and_harm_nobody(bench: Any) -> None:
    recorder = bench.ready()
    first = recorder.connect()
    crowd = [recorder.connect() for _ in range(250)]
    assert result_of(first.call("echo", value=1)) == 1
    for client in crowd[:100]:
        client.close()
    assert result_of(crowd[-1].call("echo", value=2)) == 2


def test_few_descriptors_stop_new_connections_and_nothing_else(bench: Any) -> None:
    recorder = bench.recorder()
    resource.prlimit(recorder.process.pid, resource.RLIMIT_NOFILE, (30, 30))
    recorder.begin()
    recorder.until("ready")
    first = recorder.connect()
    crowd = [recorder.connect() for _ in range(60)]
    assert result_of(first.call("echo", value=1)) == 1
    for client in (first, *crowd):
        client.close()
    assert recorder.finish()["stock"] == 10


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


AS_INIT = """
import os, sys
from arci.boundary.environment import Pipes
from arci.boundary.process import ProcessPort

release, hold = os.pipe()


def child(code):
    pid = os.fork()
    if pid == 0:
        os.close(hold)
        os.read(release, 1)
        os._exit(code)
    return pid


environment = child(7)
port = ProcessPort(Pipes(environment, *(os.open(os.devnull, os.O_RDWR) for _ in range(3))))
os.getpid = lambda: 1
assert port.reap() == []
for n in range(3):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
assert port.reap() == [] and port.is_alive
os.close(hold)
os.waitid(os.P_PID, environment, os.WEXITED | os.WNOWAIT)
print(port.reap(), port.is_alive)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("nobody is left")
"""


def test_as_pid_1_it_collects_every_orphan_and_tells_of_the_environment_alone() -> None:
    found = subprocess.run([sys.executable, "-c", AS_INIT], capture_output=True, text=True, check=False)
    assert (found.stdout, found.stderr) == ("[EnvironmentEnded('exit status 7',)] False\nnobody is left\n", "")


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
