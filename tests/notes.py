"""Experiments of commands and an MCP server of our own: a note must be added, in the way that each task names."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from e2e import descriptor, project

__all__ = ["AGENT", "DATA", "SERVER", "notes_experiment"]

DATA = Path(__file__).parent / "data"
AGENT = ["python3", "{source}/notes_agent.py", "{task_file}", "{mcp_config}", "{mcp_url}"]
SERVER = ["python3", "{source}/notes_server.py", "{workdir}", "{task_file}", "{seed}"]
_JUDGE = """
    import json


    def judge(task, final_state, evidence):
        if "files" in final_state:
            return json.loads(final_state["files"]["notes.json"]["text"]) == ["milk"]
        notes = final_state["notes"]
        return notes == ["milk"] or notes == {"notes": ["milk"]}
"""


def notes_experiment(
    directory: Path,
    backend: str,
    ways: Sequence[str],
    *,
    server: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """A descriptor in which pair i does the task of way i, in both arms. `server`: keys of `mcp_server`."""
    project(directory, {"judge.py": _JUDGE})
    for name in ("notes_agent.py", "notes_server.py"):
        shutil.copy(DATA / name, directory / name)
    arm = {"command": {"argv": AGENT}}
    document = {
        "experiment_id": "notes",
        "tasks": [{"id": way, "task": {"way": way}} for way in ways],
        "mcp_server": _without_nulls({"argv": SERVER, "snapshot": {"tool": "dump"}, **(server or {})}),
        "oracle": "judge:judge",
        "baseline": {"label": "baseline", **arm},
        "candidate": {"label": "candidate", **arm},
        "n_per_arm": len(ways),
        "isolation": backend,
        "evidence": ["where.json"],
        "budgets": {"max_seconds": 20, "tool_seconds": 10},
        **changes,
    }
    return descriptor(directory, _without_nulls(document))


def _without_nulls(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if value is not None}
