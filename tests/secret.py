"""An experiment whose agent is given a secret and tells it in every way that there is. Data for tests."""

from __future__ import annotations

from pathlib import Path

from e2e import descriptor, project

__all__ = ["NAME", "SECRET", "telltale"]

NAME = "ARCI_TEST_TOKEN"
SECRET = 'mark-7f3a/+"9c\\d1e5b2-er'

_FILES = {
    "world/world.py": """
        class World:
            def __init__(self):
                self.told = []
                self.tools = {"tell": self.tell}

            def tell(self, text: str) -> str:
                self.told.append(text)
                print("heard", text)
                if text.startswith("raise"):
                    raise RuntimeError("cannot keep " + text)
                return text

            def snapshot(self):
                return {"told": self.told, "length": len(self.told[0])}


        def open_world(task, seed):
            return World()


        def judge(task, final_state, evidence):
            print("the claim is", evidence["claim"])
            return True
    """,
    "agents/agent.py": """
        import base64
        import json
        import os
        import sys
        import urllib.parse

        from arci.agent import ToolFault


        def run(task, tools, rng):
            token = os.environ["TOKEN"]
            forms = [token, urllib.parse.quote(token, safe=""), base64.b64encode(token.encode()).decode()]
            for form in [*forms, json.dumps({"token": token}), "raise " + token]:
                try:
                    tools.call("tell", text=form)
                except ToolFault as fault:
                    print(fault)
            tools.note_model_step("used " + token, token=token)
            for stream in (sys.stdout, sys.stderr):
                print("token=%s;" % token, *forms, file=stream)
            with open(os.path.join(os.environ["ARCI_WORKDIR"], "answer"), "w") as file:
                file.write(token)
            if task["crash"]:
                raise RuntimeError("no use for " + token)
            return {"plain": "it is " + token, token: forms}
    """,
}


def telltale(directory: Path, backend: str) -> Path:
    """The descriptor: in half of the pairs the agents crash with the secret in the message."""
    arm = {"agent": "agent:run", "context": "agents", "env": {"TOKEN": f"${{{NAME}}}"}}
    document = {
        "experiment_id": "telltale",
        "tasks": [{"id": "claims", "task": {"crash": False}}],
        "toolset": "world:open_world",
        "contract": {"oracle": "world:judge"},
        "baseline": {"label": "one", **arm},
        "candidate": {"label": "two", **arm},
        "images": {"project": {"build": {"context": "world"}}},
        "evidence": ["answer"],
        "secrets": [NAME],
        "n_per_arm": 1,
        "isolation": backend,
    }
    return descriptor(project(directory, _FILES), document)
