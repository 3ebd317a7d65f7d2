"""What guests cost before user code runs, and that they run on the oldest Python an image may have."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_host import DEADLINE_S, LAUNCH, start_guest

import arci

ROOT = Path(arci.__file__).parent
GUEST_FILES = [
    *(ROOT / name for name in ("__init__.py", "agent.py", "model/__init__.py", "model/canonical.py")),
    *(path for package in ("wire", "faults", "guest", "boundary") for path in sorted((ROOT / package).rglob("*.py"))),
]
TOO_DEAR = {
    *("asyncio", "argparse", "ctypes", "dataclasses", "email", "inspect", "logging", "pathlib", "random"),
    *("subprocess", "tempfile", "threading", "traceback", "typing", "unittest", "urllib"),
}
"""Modules that cost milliseconds in each container, for which guests have something cheaper or none at all."""


def interpreters() -> list[str]:
    """This Python, and every other that is there to try: on the path, or named in ARCI_TEST_PYTHONS."""
    named = os.environ.get("ARCI_TEST_PYTHONS", "").split(os.pathsep)
    found = [shutil.which(name) for name in (*named, "python3.9", "python3.10", "python3.12", "python3.13") if name]
    answering = [
        path
        for path in found
        if path and subprocess.run([path, "-V"], capture_output=True, check=False).returncode == 0
    ]
    return [sys.executable, *answering]


def test_there_are_guest_files() -> None:
    assert len(GUEST_FILES) > 40


@pytest.mark.parametrize("path", GUEST_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_guest_file_is_python_3_9(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    later = {"match_case", "TypeAlias", "TryStar"} & {type(node).__name__ for node in ast.walk(tree)}
    assert not later
    assert (
        path.name == "launch.py"
        or path.name == "__init__.py"
        or "from __future__ import annotations" in path.read_text()
    )
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        assert not (getattr(call.func, "id", "") == "zip" and any(k.arg == "strict" for k in call.keywords))


def imported_by(*argv: str, **run: Any) -> set[str]:
    """Modules that a guest imports, up to where it ends."""
    command = [sys.executable, "-I", "-S", "-X", "importtime", str(LAUNCH), *argv]
    err = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=False, **run).stderr.decode()
    return {line.rpartition("|")[2].strip() for line in err.splitlines() if line.startswith("import time:")}


def test_a_recorder_imports_nothing_dear(bench: Any) -> None:
    begin = {
        "type": "begin",
        "listen": [f"unix:{bench.directory}/s"],
        "tokens": {"agent": "a", "status": "s"},
        "trial": {"trial_id": "t", "seed": 1, "task": {}},
        "contract": {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}},
        "budgets": {"max_tool_calls": 1, "max_model_steps": 1, "tool_seconds": 9, "setup_seconds": 60},
        "faults": [{"name": "tool_timeout", "params": {}}],
    }
    frames = b"".join(json.dumps(f).encode() + b"\n" for f in (begin, {"type": "agent_gone"}))
    modules = imported_by("recorder", "--toolset", "world:make", "--root", str(bench.directory), input=frames)
    assert {"arci.boundary.loop", "arci.faults.plan", "arci.boundary.toolset"} <= modules
    assert modules & TOO_DEAR == set()


def test_a_recorder_of_servers_imports_nothing_dear(bench: Any) -> None:
    begin = {
        "type": "begin",
        "listen": [f"unix:{bench.directory}/s"],
        "tokens": {"agent": "a", "status": "s", "environment": "e"},
        "servers": [bench.server("one", "true")],
        "trial": {"trial_id": "t", "seed": 1, "task": {}},
        "contract": {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}},
        "budgets": {"max_tool_calls": 1, "max_model_steps": 1, "tool_seconds": 9, "setup_seconds": 60},
        "faults": [],
    }
    frames = json.dumps(begin).encode() + b"\n" + json.dumps({"type": "agent_gone"}).encode() + b"\n"
    modules = imported_by("recorder", "--root", str(bench.directory), input=frames)
    assert {"arci.boundary.server", "arci.boundary.launch_server"} <= modules
    assert modules & (TOO_DEAR - {"ctypes"}) == set()  # that one by the child, on its way to its exec


def test_a_recorder_with_upstreams_imports_nothing_dear_and_one_without_none_of_them(bench: Any) -> None:
    upstream: dict[str, Any] = {"name": "m", "kind": "openai", "model": None, "max_body_bytes": 1000, "prices": {}}
    begin = {
        "type": "begin",
        "listen": [f"unix:{bench.directory}/s"],
        "tokens": {"agent": "a", "status": "s"},
        "trial": {"trial_id": "t", "seed": 1, "task": {}},
        "contract": {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}},
        "budgets": {"max_tool_calls": 1, "max_model_steps": 1, "tool_seconds": 9, "setup_seconds": 60},
        "faults": [],
    }
    found = []
    for upstreams in ([], [upstream]):
        frame = json.dumps({**begin, "upstreams": upstreams}).encode() + b"\n" + b'{"type":"agent_gone"}\n'
        argv = ("recorder", "--toolset", "world:make", "--root", str(bench.directory))
        found.append(imported_by(*argv, input=frame))
    without, with_them = found
    assert with_them & TOO_DEAR == set()
    assert "arci.boundary.model_calls" in with_them
    assert {name for name in without if "upstream" in name or "model_" in name or name == "hashlib"} == set()


def test_a_worker_imports_nothing_dear_before_the_users_module(bench: Any) -> None:
    bench.write("agent", "import os, sys\nsys.stderr.flush()\nos._exit(5)")
    recorder = bench.ready()
    modules = imported_by(
        *("worker", "--ref", "agent:run", "--root", str(bench.directory)),
        *("--dial", recorder.address, "--token", "agent-token"),
    )
    assert {"arci.guest.worker", "arci.guest.link"} <= modules
    assert modules & TOO_DEAR - site_cost() == set()


def test_a_grader_imports_nothing_dear(bench: Any) -> None:
    bench.write("oracle", "def judge(task, state):\n    return True")
    request = json.dumps({"nonce": "n", "task": {}, "final_state": {}, "evidence": {}}).encode()
    modules = imported_by("grader", "--ref", "oracle:judge", "--root", str(bench.directory), input=request)
    assert {"arci.guest.grader", "oracle"} <= modules
    assert modules & TOO_DEAR - site_cost() == set()


def site_cost() -> set[str]:
    """What the site-packages of this very interpreter bring in by themselves (`.pth` files)."""
    command = [sys.executable, "-I", "-X", "importtime", "-c", ""]
    err = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=True).stderr.decode()
    return {line.rpartition("|")[2].strip() for line in err.splitlines()}


@pytest.mark.parametrize("python", interpreters())
def test_a_whole_trial_runs_on_every_python_that_is_here(bench: Any, python: str) -> None:
    fault = {"name": "tool_timeout", "tool": "reserve", "occurrence": {"kind": "nth", "n": 0}, "params": {}}
    recorder = bench.recorder(python=python)
    recorder.begin(faults=[fault])
    recorder.until("ready")
    assert recorder.run_agent() == (0, "reserve failed: timeout\n", "")
    state = recorder.finish()
    assert recorder.close() == 0
    bench.write("oracle", "def judge(task, state):\n    return state['confirmed'] == ['order-7']")
    grader = start_guest(
        *("grader", "--ref", "oracle:judge", "--root", str(bench.directory)), python=python, stdin=subprocess.PIPE
    )
    request = {"nonce": "n", "task": {}, "final_state": state, "evidence": {}}
    out, _ = grader.communicate(json.dumps(request).encode(), timeout=DEADLINE_S)
    assert json.loads(out) == {"type": "grade", "nonce": "n", "success": True}


@pytest.mark.parametrize(("argv", "code"), [((), 64), (("nosuch",), 64)])
def test_an_unknown_guest_is_refused(argv: tuple[str, ...], code: int) -> None:
    process = start_guest(*argv, stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, b"one of recorder, worker, grader" in err) == (code, True)
