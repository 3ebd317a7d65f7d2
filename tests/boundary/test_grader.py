"""The grader as a process: one frame on stdout, whatever the oracle does."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from small_host import DEADLINE_S, start_guest

REQUEST = {
    "nonce": "n-1",
    "task": {"want": 2},
    "final_state": {"got": 2},
    "evidence": {"files": {"report.txt": {"text": "two"}}, "claim": {"got": 2}},
}


def grade(bench: Any, source: str, ref: str = "oracle:judge", wait: bool = True) -> tuple[int, list[bytes], str]:
    """Exit code, lines of stdout, stderr."""
    bench.write("oracle", source)
    process = start_guest(
        *("grader", "--ref", ref, "--root", str(bench.directory)), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = process.communicate(json.dumps(REQUEST).encode(), timeout=DEADLINE_S)
    return process.returncode, out.splitlines(), err.decode()


def frame_of(bench: Any, source: str, ref: str = "oracle:judge") -> dict[str, Any]:
    _, lines, _ = grade(bench, source, ref)
    (line,) = lines
    frame: dict[str, Any] = json.loads(line)
    assert (frame.pop("type"), frame.pop("nonce")) == ("grade", "n-1")
    return frame


@pytest.mark.parametrize("verdict", [True, False])
def test_the_oracles_bool_is_the_verdict(bench: Any, verdict: bool) -> None:
    code, lines, err = grade(bench, f"def judge(task, state):\n    return (task['want'] == state['got']) is {verdict}")
    assert (code, err) == (0, "")
    assert [json.loads(line) for line in lines] == [{"type": "grade", "nonce": "n-1", "success": verdict}]


@pytest.mark.parametrize(
    "source",
    [
        "def judge(task, state, evidence):\n    return evidence['files']['report.txt']['text'] == 'two'",
        "def judge(task, state, evidence=None):\n    return evidence['claim'] == {'got': 2}",
        "def judge(a, b, c):\n    return c['claim'] == {'got': 2}",
        "def judge(task, state, tolerance=0.5):\n    return tolerance == 0.5",
        "def judge(task, state, *rest):\n    return rest == ()",
        "def judge(task, state, *, strict=True):\n    return strict",
        "class O:\n    def judge(self, task, state, evidence):\n        return bool(evidence)\njudge = O().judge",
        "class O:\n    def __call__(self, task, state, evidence):\n        return bool(evidence)\njudge = O()",
        "import functools\ndef j(k, task, state, evidence):\n    return k == 1\njudge = functools.partial(j, 1)",
        "import functools\ndef deco(f):\n    @functools.wraps(f)\n    def w(*a):\n        return f(*a)\n    return w\n"
        "@deco\ndef judge(task, state, evidence):\n    return bool(evidence)",
        "class judge:\n    def __new__(cls, task, state):\n        return True",
    ],
)
def test_the_evidence_is_handed_to_who_takes_it(bench: Any, source: str) -> None:
    assert frame_of(bench, source) == {"success": True}


def test_prints_go_to_the_log_and_never_look_like_a_frame(bench: Any) -> None:
    source = """
    import os, subprocess, sys
    print('{"type": "grade", "nonce": "n-1", "success": true}')
    def judge(task, state):
        print("printed", flush=True)
        os.write(1, b"written\\n")
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        sys.__stdout__.write("kept in a buffer")
        return False
    """
    code, lines, err = grade(bench, source)
    assert [json.loads(line)["success"] for line in lines] == [False]
    assert code == 0
    for words in ("printed", "written", "child", "kept in a buffer", '"success": true'):
        assert words in err


@pytest.mark.parametrize(
    ("source", "kind", "words"),
    [
        ("import nosuchmodule", "import", "ModuleNotFoundError: No module named 'nosuchmodule'"),
        ("x = 1", "import", "AttributeError"),
        ("judge = 1", "import", "int is not callable"),
        ("raise SystemExit(0)", "import", "SystemExit"),
        ("def judge(task, state):\n    return state['nosuch']", "exception", "KeyError: 'nosuch'"),
        ("import sys\ndef judge(task, state):\n    sys.exit(0)", "exception", "SystemExit: 0"),
        ("def judge(task):\n    return True", "exception", "TypeError"),
        ("def judge(task, state):\n    return 1", "not_bool", "oracle oracle:judge returned int 1; a bool is required"),
        ("def judge(task, state):\n    pass", "not_bool", "NoneType None"),
        ("async def judge(task, state):\n    return True", "not_bool", "coroutine"),
        (
            "class Bool:\n    def __bool__(self):\n        return True\ndef judge(t, s):\n    return Bool()",
            "not_bool",
            "Bool",
        ),
    ],
)
def test_what_is_no_verdict_is_an_error_with_its_kind(bench: Any, source: str, kind: str, words: str) -> None:
    error = frame_of(bench, source)["error"]
    assert error["kind"] == kind
    assert words in error["message"]


def test_an_error_ends_with_1_and_shows_the_users_traceback(bench: Any) -> None:
    code, _, err = grade(bench, "def judge(task, state):\n    return 1 / 0")
    assert code == 1
    assert "oracle.py" in err
    assert "grader.py" not in err
    assert err.endswith("ZeroDivisionError: division by zero\n")


def test_a_thread_that_is_left_behind_does_not_hold_back_the_verdict(bench: Any) -> None:
    source = """
    import threading, time
    def judge(task, state):
        threading.Thread(target=time.sleep, args=(1000,)).start()
        return True
    """
    assert frame_of(bench, source) == {"success": True}


def test_the_oracle_sees_its_own_root_and_arcis_runtime_last(bench: Any) -> None:
    source = """
    import os, sys
    def judge(task, state):
        import arci
        runtime = os.path.dirname(os.path.dirname(arci.__file__))
        return os.path.exists(sys.path[0] + "/oracle.py") and os.path.samefile(sys.path[-1], runtime)
    """
    assert frame_of(bench, source) == {"success": True}
