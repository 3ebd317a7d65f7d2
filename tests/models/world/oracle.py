"""Judges what a program wrote down of its model, against what the model says."""

from __future__ import annotations

import json
from typing import Any


def checks(task: dict[str, Any], seen: dict[str, Any]) -> dict[str, bool]:
    """Step of a session -> whether the program got what the model said. Pieces tell whether it was streamed."""
    return {step: holds(task, seen["mode"], seen["steps"].get(step, {})) for step in task["steps"]}


def holds(task: dict[str, Any], mode: str, seen: dict[str, Any]) -> bool:
    if "dimensions" in seen:
        return bool(seen["dimensions"] == task["dimensions"])
    is_whole = seen.get("text") == task["answer"] and (seen["pieces"] > 1) == (mode == "stream")
    return is_whole and bool(seen.get("calls", [task["call"]]) == [task["call"]])


def judge_session(task: dict[str, Any], final_state: dict[str, Any], evidence: dict[str, Any]) -> bool:
    seen = read(evidence)
    return seen is not None and all(checks(task, seen).values())


def judge_call(task: dict[str, Any], final_state: dict[str, Any], evidence: dict[str, Any]) -> bool:
    """It ended, and told how: what a package does is looked at, not judged."""
    seen = read(evidence)
    return seen is not None and {"text", "pieces", "error"} <= seen.keys()


def read(evidence: dict[str, Any]) -> Any:
    file = evidence["files"].get("seen.json")
    return None if file is None else json.loads(file["text"])
