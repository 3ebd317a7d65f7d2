"""What a recorder takes until its environment is ready, as a local process: CPU with a toolset or a server, imports."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import arci
from bench.importtime import imports

__all__ = ["LAUNCH", "MOST_MS", "WORLD", "cpu_ms", "ready_cpu_ms", "ready_imports"]

MOST_MS = 60.0
"""What a trial may spend on it."""
LAUNCH = Path(arci.__file__).parent / "guest" / "launch.py"
WORLD = Path("examples/retry_agent/world").resolve()
SERVER = Path("bench/command/server.py").resolve()


def ready_cpu_ms(kind: str, times: int = 15) -> float:
    """Milliseconds of the recorder's own process, its environment apart; the median. `kind`: `toolset` or `server`."""
    return statistics.median(_once(kind) for _ in range(times))


def ready_imports() -> dict[str, object]:
    """What a recorder with a server has imported when it is ready, as `importtime` tells it."""
    with tempfile.TemporaryFile() as stderr:
        with _ready("server", "-X", "importtime", stderr=stderr):
            pass
        stderr.seek(0)
        return imports(stderr.read().decode())


def _once(kind: str) -> float:
    with _ready(kind) as recorder:
        return cpu_ms(recorder.pid)


@contextmanager
def _ready(kind: str, *options: str, stderr: IO[bytes] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A recorder that has just said that it is ready; it ends with the end of its stdin."""
    toolset = ("--toolset", "world:open_world") if kind == "toolset" else ()
    argv = [sys.executable, "-I", "-S", *options, str(LAUNCH), "recorder", *toolset, "--root", str(WORLD)]
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        with process as recorder:
            assert recorder.stdin is not None
            assert recorder.stdout is not None
            recorder.stdin.write(json.dumps(_begin(kind, Path(directory))).encode() + b"\n")
            recorder.stdin.flush()
            told = json.loads(recorder.stdout.readline())
            assert told["type"] == "ready", told
            yield recorder


def cpu_ms(pid: int) -> float:
    """Of a process that lives and its threads: what the scheduler has counted, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6


def _begin(kind: str, directory: Path) -> dict[str, Any]:
    workdir = str(directory / "server")
    argv = [sys.executable, "-I", "-S", str(SERVER)]
    server = {"name": "server", "argv": argv, "env": {}, "workdir": workdir, "task_file": f"{workdir}.task.json"}
    return {
        "type": "begin",
        "listen": [f"unix:{directory}/s", "tcp:127.0.0.1:0"],
        "tokens": {"agent": "a" * 32, "status": "s" * 32, "environment": "e" * 32},
        "servers": [] if kind == "toolset" else [{**server, "snapshot": None}],
        "trial": {
            "trial_id": "clean:00000:baseline",
            "seed": 12000,
            "task": {"order_id": "order-7", "sku": "widget", "quantity": 2, "stock": 10},
        },
        "contract": {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}},
        "budgets": {"max_tool_calls": 10, "max_model_steps": 10, "tool_seconds": 30, "setup_seconds": 120},
        "faults": [],
    }
