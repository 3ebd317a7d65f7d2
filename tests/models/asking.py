"""Small experiments whose agents ask their model by hand, with the standard library alone. Data for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e import descriptor, project

from models.gate import MODEL

__all__ = ["asking"]

_FILES = {
    "world/world.py": """
        class World:
            def __init__(self):
                self.tools = {"noop": self.noop}

            def noop(self) -> None:
                pass

            def snapshot(self):
                return {}


        def open_world(task, seed):
            return World()


        def judge(task, final_state, evidence):
            return "answers.json" in evidence["files"]
    """,
    "agent/agent.py": """
        import http.client
        import json
        import os
        import urllib.parse

        BASE = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
        HEADERS = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}


        def ask(connection, text):
            body = {"model": "gate-1", "messages": [{"role": "user", "content": text}]}
            connection.request("POST", BASE.path + "/chat/completions", json.dumps(body), HEADERS)
            with connection.getresponse() as answer:
                return {"status": answer.status, "headers": answer.getheaders(), "body": answer.read().decode()}


        def run():
            answers = []
            connection = http.client.HTTPConnection(BASE.hostname, BASE.port)
            for number in range(json.loads(os.environ["ARCI_TASK"])["calls"]):
                try:
                    answers.append(ask(connection, "call %d" % number))
                except (OSError, http.client.HTTPException):
                    connection.close()  # and on with a new one: this agent does not give up
            return {"answers": answers, "environment": dict(os.environ)}


        seen = json.dumps(run())
        print(seen)
        with open(os.path.join(os.environ["ARCI_WORKDIR"], "answers.json"), "w") as file:
            file.write(seen)
    """,
}


def asking(directory: Path, base_url: str, calls: int, **changes: Any) -> Path:
    """The descriptor: each agent makes `calls` calls, one after the other. `changes`: further keys; those of `models`
    are of the one model."""
    arm = {"command": {"argv": ["python3", "agent.py"]}}
    model: Mapping[str, Any] = {"kind": "openai", "base_url": base_url, "model": MODEL, **changes.pop("models", {})}
    document = {
        "experiment_id": "asking",
        "task": {"calls": calls},
        "toolset": "world:open_world",
        "oracle": "world:judge",
        "baseline": {"label": "one", **arm},
        "candidate": {"label": "two", **arm},
        "models": {"gate": dict(model)},
        "evidence": ["answers.json"],
        "n_per_arm": 1,
        "budgets": {"max_seconds": 300},
        "isolation": "docker",
        "images": {"agent": {"build": {"context": "agent"}}, "project": {"build": {"context": "world"}}},
    }
    return descriptor(project(directory, _FILES), {**document, **changes})
