"""Asking the grader: its input, its bounded output, its deadline, and the one answer that is believed."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskGroup

from arci.isolation.base import Exit, Guest, Pod, ProcessSpec
from arci.model.canonical import canonical
from arci.model.trial import Role
from arci.run.attempt import Attempt
from arci.run.facts import Grade

__all__ = ["MOST_OUTPUT_BYTES", "GraderOutput", "grade_trial", "judge_output"]

MOST_OUTPUT_BYTES = 1 << 20
"""Of the grader's stdout. An answer beyond it is refused, never looked for in what is left."""
_DRAIN_S = 3.0


@dataclass(slots=True)
class GraderOutput:
    """What a grader printed on stdout and how it ended."""

    data: bytearray = field(default_factory=bytearray)
    total_bytes: int = 0
    exit: Exit | None = None
    is_late: bool = False
    """Its deadline passed: nothing that it printed counts."""

    def add(self, data: bytes) -> None:
        self.total_bytes += len(data)
        self.data += data[: max(0, MOST_OUTPUT_BYTES - len(self.data))]


async def grade_trial(pod: Pod, attempt: Attempt, group: TaskGroup) -> None:
    """Fills `attempt.grade`. Its clock, `grader_seconds`, starts when the grader's process does."""
    nonce, grader = secrets.token_hex(16), attempt.manifest.grader
    argv = grader.argv
    if grader.kind == "python":
        root = pod.source(Role.GRADER)
        argv = pod.python(Role.GRADER, "grader", "--ref", grader.ref or "", "--root", root)
    with attempt.measure("grade"):
        spec = ProcessSpec(argv, stdin=canonical(_grader_input(attempt, nonce)) + b"\n")
        guest = await pod.start(Role.GRADER, spec)
        output = await _run(guest, attempt, group)
        attempt.grade = judge_output(output, grader.kind, nonce, attempt.manifest.budgets.grader_seconds)


def _grader_input(attempt: Attempt, nonce: str) -> dict[str, Any]:
    files = attempt.evidence.for_grader() if attempt.evidence is not None else {}
    return {
        "nonce": nonce,
        "task": attempt.trial.task,
        "final_state": attempt.final_state,
        "evidence": {"files": files, "claim": attempt.claim, "initial_state": attempt.initial_state},
    }


async def _run(guest: Guest, attempt: Attempt, group: TaskGroup) -> GraderOutput:
    output, drained = GraderOutput(), anyio.Event()
    group.start_soon(_collect, guest, attempt, output, drained)
    output.exit = await guest.wait(attempt.manifest.budgets.grader_seconds)
    if output.exit is None:
        output.is_late = True
        output.exit = await guest.stop(0.0)
    else:
        with anyio.move_on_after(_DRAIN_S):
            await drained.wait()
    return output


async def _collect(guest: Guest, attempt: Attempt, output: GraderOutput, drained: anyio.Event) -> None:
    log = attempt.log(Role.GRADER)
    async for chunk in log.tee(guest):
        if chunk.stream == "stdout" and not output.is_late:
            output.add(chunk.data)
    drained.set()


def judge_output(output: GraderOutput, kind: str, nonce: str, limit_s: float) -> Grade:
    """The grade that a grader's output and end make. Pure. `kind`: `python` (a frame) or `command` (an object)."""
    if output.is_late:
        return Grade(None, "timeout", f"no answer within {limit_s:g} s (grader_seconds)")
    end = output.exit
    if end is None or end.code is None or not end.started:
        return Grade(None, "exit", f"its end is unknown {end.detail if end else ''}".rstrip())
    if output.total_bytes > MOST_OUTPUT_BYTES:
        message = f"grader output truncated: {output.total_bytes} bytes; {MOST_OUTPUT_BYTES} are allowed"
        return Grade(None, "truncated", message)
    answer = _answer(bytes(output.data), kind)
    if kind == "python" and answer is not None and isinstance(answer.get("error"), dict) and _is_ours(answer, nonce):
        return Grade(None, str(answer["error"].get("kind")), str(answer["error"].get("message")))
    if end.code != 0:
        return Grade(None, "exit", f"it ended with {end.code if end.signal is None else f'signal {end.signal}'}")
    if answer is None or (kind == "python" and not _is_ours(answer, nonce)):
        return Grade(None, "frame", f"no answer in its output: {bytes(output.data[-200:])!r}")
    if not isinstance(answer.get("success"), bool):
        return Grade(None, "frame", f"success is {answer.get('success')!r}; true or false is expected")
    return Grade(answer["success"])


def _answer(data: bytes, kind: str) -> dict[str, Any] | None:
    """The JSON object of a frame (the last line, complete) or of a command's whole output."""
    if kind == "python" and not data.endswith(b"\n"):
        return None
    text = data.splitlines()[-1] if kind == "python" and data.strip() else data
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_ours(answer: dict[str, Any], nonce: str) -> bool:
    said = str(answer.get("nonce"))
    return answer.get("type") == "grade" and hmac.compare_digest(said.encode("utf-8", "replace"), nonce.encode())
