"""Guests that start from packs: the same guests, found in one file, and as ever where there is no pack that fits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_host import DEADLINE_S, LAUNCH

from arci.guest.packs import PACKS, file_name

LIBRARY = LAUNCH.parents[2]
WRITE = "import sys; sys.path.append(sys.argv[1]); from arci.guest.packing import write_packs; write_packs(sys.argv[2])"
WORLD = LIBRARY / "examples" / "retry_agent" / "world"
TASK = {"order_id": "order-7", "sku": "widget", "quantity": 2, "stock": 10}
ALWAYS = {"arci", "arci.guest", "arci.guest.packs"}
"""What a guest imports to find its pack."""


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("packs")
    argv = [sys.executable, "-I", "-S", "-c", WRITE, str(LIBRARY), str(directory)]
    subprocess.run(argv, check=True, timeout=DEADLINE_S)
    return directory


def argv_of(packs: Path, *argv: str) -> list[str]:
    options = ("-I", "-S", "-X", "importtime", "-X", f"pycache_prefix={packs}")
    return [sys.executable, *options, str(LAUNCH), *argv]


def read_one_by_one(stderr: bytes) -> set[str]:
    """The modules of ours that a guest imported from files of their own."""
    lines = [line for line in stderr.decode().splitlines() if line.startswith("import time:")]
    modules = {line.rpartition("|")[2].strip() for line in lines}
    return {name for name in modules if name.partition(".")[0] == "arci"}


def started(packs: Path, guest: str) -> set[str]:
    """The same of one that is told nothing: it has imported what it starts with, and says how it is called."""
    done = subprocess.run(argv_of(packs, guest), capture_output=True, timeout=DEADLINE_S, check=False)
    return read_one_by_one(done.stderr)


def recorded(packs: Path, directory: Path) -> tuple[set[str], dict[str, Any]]:
    """The same of a recorder that is ready, and the frame in which it says so."""
    directory.mkdir()
    begin = {
        "type": "begin",
        "listen": [f"unix:{directory}/s"],
        "tokens": {"agent": "a" * 32, "status": "s" * 32},
        "trial": {"trial_id": "t", "seed": 1, "task": TASK},
        "contract": {"max_tool_calls": None, "forbidden_tools": [], "max_calls_per_tool": {}},
        "budgets": {"max_tool_calls": 1, "max_model_steps": 1, "tool_seconds": 9, "setup_seconds": 60},
        "faults": [],
    }
    argv = argv_of(packs, "recorder", "--toolset", "world:open_world", "--root", str(WORLD))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe) as recorder:
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        recorder.stdin.write(json.dumps(begin).encode() + b"\n")
        recorder.stdin.flush()
        told: dict[str, Any] = json.loads(recorder.stdout.readline())
        _, stderr = recorder.communicate(b'{"type": "stop"}\n', timeout=DEADLINE_S)
    return read_one_by_one(stderr), told


def test_there_is_a_pack_for_whatever_starts_in_every_trial(packs: Path) -> None:
    assert {path.name for path in packs.iterdir()} == {file_name(name) for name in PACKS}
    assert {"recorder", "worker", "grader"} <= set(PACKS)


@pytest.mark.parametrize("guest", ["recorder", "worker", "grader"])
def test_a_guest_with_a_pack_reads_no_other_file_of_ours(guest: str, packs: Path) -> None:
    assert started(packs, guest) == ALWAYS


def test_a_recorder_from_packs_is_the_same(packs: Path, tmp_path: Path) -> None:
    from_packs, told = recorded(packs, tmp_path / "a")
    from_files, as_ever = recorded(tmp_path / "none", tmp_path / "b")
    assert told["type"] == "ready"
    assert told.keys() == as_ever.keys()
    assert from_packs <= ALWAYS
    assert len(from_files) > 40


@pytest.mark.parametrize("damage", ["another interpreter's", "absent", "empty"])
def test_a_pack_that_does_not_fit_is_left_alone(damage: str, packs: Path, tmp_path: Path) -> None:
    data = (packs / file_name("grader")).read_bytes()
    if damage != "absent":
        other = bytes([data[0] ^ 1]) + data[1:]
        (tmp_path / file_name("grader")).write_bytes(other if damage != "empty" else b"")
    assert "arci.guest.grader" in started(tmp_path, "grader")


def test_a_traceback_shows_the_sources_of_what_came_from_a_pack(packs: Path, tmp_path: Path) -> None:
    script = f"""
import sys
sys.pycache_prefix = {str(packs)!r}
sys.path.append({str(LIBRARY)!r})
from arci.guest.packs import unpack
unpack("grader")
import inspect, traceback, arci.guest.usercode as usercode
assert usercode is sys.modules["arci.guest"].usercode
assert "import_module" not in inspect.getsource(usercode.load)
try:
    usercode.load("nonsense")
except ValueError:
    traceback.print_exc(file=sys.stdout)
"""
    argv = [sys.executable, "-I", "-S", "-c", script]
    said = subprocess.run(argv, input=b"", capture_output=True, timeout=DEADLINE_S, check=True).stdout.decode()
    assert 'arci/guest/usercode.py", line' in said
    assert 'raise ValueError(f"reference {reference!r}: module:function is allowed")' in said


def test_user_code_has_garbage_collected_as_in_any_program(tmp_path: Path) -> None:
    """Our own start goes without it."""
    (tmp_path / "oracle.py").write_text(
        "import gc\n\ndef oracle(task, state):\n    return gc.isenabled() and gc.get_freeze_count() == 0\n"
    )
    request = {"nonce": "n", "task": {}, "final_state": {}, "evidence": {}}
    argv = [sys.executable, "-I", "-S", str(LAUNCH), "grader", "--ref", "oracle:oracle", "--root", str(tmp_path)]
    done = subprocess.run(
        argv, input=json.dumps(request).encode(), capture_output=True, timeout=DEADLINE_S, check=False
    )
    assert json.loads(done.stdout)["success"] is True


def test_a_recorder_collects_garbage_while_it_serves() -> None:
    script = f"""
import gc, os, sys
sys.path.append({str(LIBRARY)!r})
gc.disable()
from arci.boundary import loop, recorder
class Loop:
    def __init__(self, *ports): pass
    def run(self): return gc.isenabled()
loop.Loop = Loop
print(recorder._record(".", None, (os.dup(0), os.dup(1), None), None))
"""
    argv = [sys.executable, "-I", "-S", "-c", script]
    assert subprocess.run(argv, input=b"", capture_output=True, timeout=DEADLINE_S, check=True).stdout == b"True\n"
