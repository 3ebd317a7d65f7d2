"""A small host: drives a real recorder over its pipes, and starts real workers against it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import arci

__all__ = ["DEADLINE_S", "LAUNCH", "PYTHON", "Bench", "Client", "Recorder", "result_of", "start_guest"]

LAUNCH = Path(arci.__file__).parent / "guest" / "launch.py"
PYTHON = os.environ.get("ARCI_GUEST_PYTHON", sys.executable)
"""What guests run on; an image may have an older one than this host."""
DEADLINE_S = 60.0
"""How long a test waits for what must come; only a hung program ever waits so long."""

WORLD = '''
class World:
    def __init__(self, task, seed):
        self.task, self.seed = task, seed
        self.stock, self.reservations, self.confirmed = task.get("stock", 10), {}, []
        self.tools = {
            "get_stock": self.get_stock,
            "reserve": self.reserve,
            "confirm": self.confirm,
            "echo": self.echo,
        }

    def get_stock(self, sku: str) -> int:
        """How many are left."""
        return self.stock

    def reserve(self, order_id: str, sku: str, quantity: int) -> bool:
        """Set some aside."""
        if order_id not in self.reservations:
            if quantity > self.stock:
                raise ValueError(f"only {self.stock} left")
            self.stock -= quantity
            self.reservations[order_id] = quantity
        return True

    def confirm(self, order_id: str, sku: str) -> bool:
        if order_id not in self.reservations or order_id in self.confirmed:
            return False
        self.confirmed.append(order_id)
        return True

    def echo(self, value):
        return value

    def snapshot(self):
        return {"stock": self.stock, "reservations": self.reservations, "confirmed": self.confirmed}


def make(task, seed):
    return World(task, seed)
'''

AGENT = """
from arci.agent import ToolFault


def run(task, tools, rng):
    tools.note_model_step("plan", draw=rng.random())
    for attempt in range(3):
        try:
            tools.call("reserve", order_id=task["order_id"], sku="widget", quantity=2)
            break
        except ToolFault as fault:
            print("reserve failed:", fault.kind)
    return {"confirmed": tools.call("confirm", order_id=task["order_id"], sku="widget")}
"""


def start_guest(*argv: str, python: str = PYTHON, **popen: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([python, "-I", "-S", str(LAUNCH), *argv], stdout=subprocess.PIPE, **popen)


def result_of(answer: dict[str, Any]) -> Any:
    """The value of a tool answer."""
    return answer["structuredContent"]["result"]


class Recorder:
    """One recorder process and what it has said so far."""

    def __init__(
        self,
        directory: Path,
        *,
        toolset: str | None = "world:make",
        python: str = PYTHON,
        uid: int | None = None,
        silence_ms: int | None = None,
    ) -> None:
        """`toolset` None: the environment is the servers that `begin` names."""
        self.directory = directory
        self.address = f"unix:{directory}/s"
        self.frames: list[dict[str, Any]] = []
        self.python = python
        self._buffer = b""
        self._clients: list[Client] = []
        with (directory / "recorder.log").open("ab") as log:
            self.process = start_guest(
                *("recorder", "--root", str(directory)),
                *(() if toolset is None else ("--toolset", toolset)),
                *(() if uid is None else ("--uid", str(uid))),
                *(() if silence_ms is None else ("--silence-ms", str(silence_ms))),
                python=python,
                stdin=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def say(self, **frame: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, **changes: Any) -> None:
        """Begin a trial; `contract`, `budgets`, `faults`, `task`, `servers` and `listen` change the defaults."""
        contract: dict[str, Any] = {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}}
        budgets = {"max_tool_calls": 30, "max_model_steps": 50, "tool_seconds": 30, "setup_seconds": 60}
        self.say(
            type="begin",
            listen=changes.get("listen", [self.address]),
            tokens={"agent": "agent-token", "status": "status-token", "environment": "environment-token"},
            servers=changes.get("servers", []),
            upstreams=changes.get("upstreams", []),
            trial={
                "trial_id": "c:00000:baseline",
                "seed": 7,
                "task": changes.get("task", {"order_id": "order-7"}),
                "rng_state": random.Random("7:agent").getstate(),
            },
            contract={**contract, **changes.get("contract", {})},
            budgets={**budgets, **changes.get("budgets", {})},
            faults=changes.get("faults", []),
        )

    def until(self, type: str, **fields: Any) -> dict[str, Any]:
        """Read frames up to the first new one of this type with these fields."""
        while True:
            frame = self.next()
            if frame["type"] == type and all(frame.get(name) == value for name, value in fields.items()):
                return frame

    def next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        deadline = time.monotonic() + DEADLINE_S
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], deadline - time.monotonic())
            data = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            assert data, f"the recorder ended or is silent after {self.frames[-3:]}\n{self.log()}"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        self.frames.append(json.loads(line))
        return self.frames[-1]

    def finish(self) -> dict[str, Any]:
        """The agent is gone: the final state. Checks that the count of events is right."""
        self._close_clients()
        self.say(type="agent_gone")
        end = self.until("end")
        assert end["count"] == len(self.events())
        return next((f["state"] for f in self.frames if f["type"] == "final_state"), {})

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        events = [f["event"] for f in self.frames if f["type"] == "event"]
        return [e for e in events if not kinds or e["kind"] in kinds]

    def log(self) -> str:
        return (self.directory / "recorder.log").read_text(errors="replace")

    def connect(self, hello: bytes = b"ARCI mcp agent-token\n") -> Client:
        self._clients.append(Client(self.address.partition(":")[2], hello))
        return self._clients[-1]

    def worker(self, ref: str = "agent:run", **popen: Any) -> subprocess.Popen[bytes]:
        return start_guest(
            *("worker", "--ref", ref, "--root", str(self.directory)),
            *("--dial", self.address, "--token", "agent-token"),
            python=self.python,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            **popen,
        )

    def run_agent(self, ref: str = "agent:run") -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a whole worker."""
        process = self.worker(ref)
        out, err = process.communicate(timeout=DEADLINE_S)
        return process.returncode, out.decode(), err.decode()

    def close(self) -> int:
        """End of stdin; the exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            return self.process.wait(DEADLINE_S)
        finally:
            self.process.stdout.close()

    def _close_clients(self) -> None:
        for client in self._clients:
            client.close()

    def kill(self) -> None:
        self._close_clients()
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.close()


class Client:
    """A connection of the agent's side, spoken to by hand."""

    def __init__(self, path: str, hello: bytes) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(DEADLINE_S)
        self.send(hello)
        self._file = self.socket.makefile("rb")

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, id: Any, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")

    def line(self) -> bytes:
        """The next line; b"" when the recorder has ended the connection."""
        try:
            return self._file.readline()
        except ConnectionResetError:
            return b""

    def frame(self) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(self.line())
        return frame

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.ask(1, "tools/call", name=tool, arguments=arguments)
        result: dict[str, Any] = self.frame()["result"]
        return result

    def close(self) -> None:
        self._file.close()
        self.socket.close()


class Bench:
    """A directory with user code, and the recorders started in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._recorders: list[Recorder] = []
        self.write("world", WORLD)
        self.write("agent", AGENT)

    def write(self, module: str, source: str) -> None:
        (self.directory / f"{module}.py").write_text(textwrap.dedent(source))

    def recorder(self, **options: Any) -> Recorder:
        recorder = Recorder(self.directory, **options)
        self._recorders.append(recorder)
        return recorder

    def server(self, name: str, *argv: str, **changes: Any) -> dict[str, Any]:
        """As `begin` names it."""
        workdir = self.directory / "work" / name
        own: dict[str, Any] = {"name": name, "argv": list(argv), "env": {}, "workdir": str(workdir), "snapshot": None}
        return {**own, "task_file": f"{workdir}.task.json", **changes}

    def script(self, name: str, source: str, *argv: str, **changes: Any) -> dict[str, Any]:
        """A server that is a Python program of the test's, in `NAME.py`."""
        self.write(name, source)
        return self.server(name, PYTHON, "-I", "-S", str(self.directory / f"{name}.py"), *argv, **changes)

    def ready(self, **begin: Any) -> Recorder:
        """A recorder whose trial has begun and whose environment is ready."""
        recorder = self.recorder(toolset=None) if begin.get("servers") else self.recorder()
        recorder.begin(**begin)
        recorder.until("ready")
        return recorder

    def close(self) -> None:
        for recorder in self._recorders:
            recorder.kill()
