"""Ways to end, not to end, and to leave someone behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INFRASTRUCTURE = """
Killed
Out of memory: Killed process 1 (python3)
fatal error: runtime: out of memory
MemoryError
Could not resolve host: registry-1.docker.io
Temporary failure in name resolution
Error response from daemon: No such container: deadbeef
Error response from daemon: Container deadbeef is not running
OCI runtime exec failed: exec failed: unable to start container process
Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?
docker: Error response from daemon: failed to create shim task
service "main" is not running
write /tmp/x: no space left on device
ENOSPC: no space left on device
ECONNRESET: socket hang up
429 Too Many Requests
rate_limit_error: Number of request tokens has exceeded your per-minute rate limit
503 Service Unavailable
overloaded_error: Overloaded
context deadline exceeded
i/o timeout
TimeoutError: [Errno 110] Connection timed out
subprocess.TimeoutExpired
infrastructure error, please retry
INFRA_ERROR
exit status 137
exit status 255
exec-failed 8
ended signal 9 oom=1
arci-init: cannot reach the status address
{"type": "trouble", "blame": "harness", "detail": "broken", "phase": "trial"}
{"type": "trouble", "blame": "environment", "detail": "broken", "phase": "trial"}
"""


def at_once(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    os._exit(0)


def by_system_exit(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    sys.exit(0)


def with_75(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    os._exit(75)


def with_125(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    os._exit(125)


def with_137(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    os._exit(137)


def with_139(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    os._exit(139)


def by_kill(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def by_segfault(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def as_infrastructure(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    for stream in (sys.stdout, sys.stderr):
        stream.write(INFRASTRUCTURE)
        stream.flush()
    os._exit(1)


def as_another(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Puts another program in the worker's place, which ends well."""
    os.execv("/bin/sh", ["sh", "-c", "exit 0"])


def claim_success(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    return {"success": True, "outcome": "PASS", "final_state": {"done": 1}}


def answer_for_the_worker(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Takes the worker's own line out of its memory, hands over a result itself, twice, and ends well."""
    import gc

    (link,) = (thing for thing in gc.get_objects() if type(thing).__name__ == "Link")
    for claim in ({"success": True}, {"success": True, "second": True}):
        with suppress(Exception):
            link.request("arci/result", {"claim": claim})
    os._exit(0)


def leave_grandchildren(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Daemons that ignore signals, hold the streams, and write evidence after the agent's end."""
    ready, told = os.pipe()
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                _ignore_signals()
                os.write(told, b"x")
                _write_for_ever(Path(given["workdir"], "report.txt"))
            os._exit(0)
    for _ in range(5):
        os.read(ready, 1)
    return {"left": 5}


def _write_for_ever(path: Path) -> None:
    while True:
        with suppress(OSError):
            path.write_text("done\n", encoding="utf-8")
        os.write(1, b"still here\n")
        time.sleep(0.01)


def _ignore_signals() -> None:
    for number in range(1, signal.NSIG):
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)


def ignore_term(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    _ignore_signals()
    while True:
        time.sleep(3600)


def stop_siblings(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """Stops everything that it may stop, itself last."""
    if os.fork() == 0:
        os.kill(-1, signal.SIGSTOP)
        os._exit(0)
    while True:
        time.sleep(3600)


def kill_everything(given: dict[str, Any], tools: Any) -> dict[str, Any]:
    """`kill -9 -1` by a child: the worker dies of it."""
    if os.fork() == 0:
        os.kill(-1, signal.SIGKILL)
        os._exit(0)
    while True:
        time.sleep(3600)
