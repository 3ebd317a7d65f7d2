"""Graders that are commands: one in sh, one in Python, each in a file beside the world. Data for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from e2e import descriptor, project

__all__ = ["PYTHON", "SHELL", "graded"]

SHELL: dict[str, Any] = {"command": {"argv": ["sh", "grade.sh"]}}
PYTHON: dict[str, Any] = {"command": {"argv": ["python3", "grade.py"]}}

_FILES = {
    "world/world.py": """
        class World:
            tools = {"silent": int}

            def snapshot(self):
                return {"stock": 10}


        def open_world(task, seed):
            return World()
    """,
    "world/grade.sh": """
        said=$(cat)
        case $said in
          *'"way":"silent"'*) echo grading >&2; exit 0;;
          *'"stock":10'*'"text":"right"'*|*'"text":"right"'*'"stock":10'*) echo '{"success": true}';;
          *) echo '{"success": false}';;
        esac
    """,
    "world/grade.py": """
        import json
        import sys

        given = json.load(sys.stdin)
        assert given["final_state"] == {"stock": 10}
        assert given["evidence"]["claim"] == {"done": True}
        if given["task"]["way"] == "silent":
            sys.exit(0)
        print(json.dumps({"success": given["evidence"]["files"]["answer"]["text"] == "right"}))
    """,
    "agents/agent.py": """
        import os


        def run(task, tools, rng):
            with open(os.path.join(os.environ["ARCI_WORKDIR"], "answer"), "w") as file:
                file.write(task["way"])
            return {"done": True}
    """,
}


def graded(directory: Path, backend: str, grader: dict[str, Any]) -> Path:
    """A descriptor: a right and a wrong answer, and one at which the grader says nothing; the same in both arms."""
    arm = {"agent": "agent:run", "context": "agents"}
    document = {
        "experiment_id": "graded",
        "tasks": [{"id": way, "task": {"way": way}} for way in ("right", "wrong", "silent")],
        "toolset": "world:open_world",
        "grader": grader,
        "baseline": {"label": "one", **arm},
        "candidate": {"label": "two", **arm},
        "images": {"project": {"build": {"context": "world"}}},
        "evidence": ["answer"],
        "n_per_arm": 3,
        "isolation": backend,
    }
    return descriptor(project(directory, _FILES), document)
