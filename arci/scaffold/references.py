"""Are the references of a plan there: each imported by a process of its own, which may crash or hang.

It is the interpreter and the path that a local worker has: nothing of the caller's environment but PATH.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arci.errors import Problem
from arci.scaffold.answers import Plan
from arci.scaffold.gather import WHERE

__all__ = ["IMPORT_S", "Checked", "check_references"]

IMPORT_S = 30.0
_PROGRAM = Path(__file__).with_name("importing.py")
_TAKES = {"agent": (3,), "--toolset": (2,), "--oracle": (3, 2)}
"""How many arguments each is called with."""

Checked = tuple[list[Problem], list[str]]
"""What is wrong, and what is worth saying."""


def check_references(plan: Plan, root: Path, *, limit_s: float = IMPORT_S) -> Checked:
    """Imports every reference of `plan` from `root`, at most `limit_s` seconds each."""
    problems, warnings = [], []
    for option, reference, counts in _references(plan):
        answer = _asked(root, reference, counts, limit_s)
        if "error" not in answer:
            continue
        if plan.backend == "docker" and _is_elsewhere(answer, reference):
            warnings.append(f"{option} {reference}: {answer['missing']} is not installed here; its image must have it.")
            continue
        problems.append(Problem(WHERE, option, f"{reference}: {answer['error']}.", _hint(answer, reference, root)))
    return problems, warnings


def _references(plan: Plan) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    for name, arm in plan.arms.items():
        if arm.ref is not None and arm.image is None:  # the code of an image is not here
            yield f"--{name}", arm.ref, _TAKES["agent"]
    if plan.toolset is not None:
        yield "--toolset", plan.toolset, _TAKES["--toolset"]
    if plan.oracle is not None:
        yield "--oracle", plan.oracle, _TAKES["--oracle"]


def _asked(root: Path, reference: str, counts: tuple[int, ...], limit_s: float) -> dict[str, Any]:
    """The program's answer. Files, not pipes: a process that the module left behind cannot keep us reading."""
    argv = [sys.executable, "-I", "-B", str(_PROGRAM), str(root), reference, *map(str, counts)]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "HOME": os.environ.get("HOME", "/")}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            argv, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return {"error": f"its import takes longer than {limit_s:g} s"}
        finally:
            _end(process)
        out.seek(0)
        with contextlib.suppress(ValueError):
            answer: dict[str, Any] = json.loads(out.read())
            return answer
        err.seek(0)
        said = err.read()[-500:].decode("utf-8", "replace").strip()
        return {"error": f"its import ends the interpreter ({code})" + (f": {said}" if said else "")}


def _end(process: subprocess.Popen[bytes]) -> None:
    """The whole group that the import started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _is_elsewhere(answer: dict[str, Any], reference: str) -> bool:
    """A module is missing that is not the person's own: it may be in the image alone."""
    missing = answer.get("missing")
    return bool(missing) and reference.partition(":")[0].partition(".")[0] != str(missing).partition(".")[0]


def _hint(answer: dict[str, Any], reference: str, root: Path) -> str | None:
    missing = answer.get("missing")
    if not missing:
        return None
    if _is_elsewhere(answer, reference):
        return f"install {missing} beside arci ({sys.executable}), or use --docker"
    return f"modules are looked for in {root}, where arci.yaml will be"
