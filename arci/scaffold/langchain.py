"""The experiment that `arci init --langchain NAME` writes: examples/langchain_retry under another name.

Reads the files of this package, or of the checkout that it is run from.
"""

from __future__ import annotations

from pathlib import Path

import arci
from arci.scaffold.flow import flow

__all__ = ["langchain_files"]

FILES = (
    *("arci.yaml", "run.py", "model_server.py"),
    *("agent/agent.py", "agent/requirements.txt", "world/world.py", "world/oracle.py"),
)
"""All of the example but its page, which is about a place in this repository."""
_ID = "experiment_id: langchain-retry\n"


def langchain_files(name: str) -> dict[str, str]:
    """Relative path -> text, of an experiment that runs at once. `name`: its id."""
    package = Path(arci.__file__).parent
    installed = package / "_examples"
    source = (installed if installed.is_dir() else package.parent / "examples") / "langchain_retry"
    texts = {path: (source / path).read_text(encoding="utf-8") for path in FILES}
    before, _, after = texts["arci.yaml"].partition(_ID)
    return {**texts, "arci.yaml": f"{before}experiment_id: {flow(name)}\n{after}"}
