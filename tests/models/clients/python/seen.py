"""What a program saw of its model: run as asked, written to `seen.json` below the workdir, and printed.

A program has two scopes. `session`: every way to call a model that its package has, by name. `call`: one call alone,
whose failure is what is looked at. Both once with whole answers (`plain`), once with streamed ones (`stream`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MODEL = "mock-1"
QUESTION = "What is on the shelf?"
TIMEOUT_S = 2.0
"""What a program gives its client, so that faults do not take minutes. Retries are left as the package has them."""

Step = Callable[[bool], dict[str, Any]]
"""Whether answers are to be streamed -> at least `text` and `pieces`, the number of parts in which the text came."""


def run(session: Mapping[str, Step], call: Step) -> None:
    mode, scope = sys.argv[1:]
    streamed = mode == "stream"
    if scope == "session":
        write({"mode": mode, "steps": {name: step(streamed) for name, step in session.items()}})
        return
    try:
        seen = {**call(streamed), "error": None}
    except Exception as error:
        seen = {"text": "", "pieces": 0, "error": f"{type(error).__module__.partition('.')[0]}.{type(error).__name__}"}
    write({"mode": mode, **seen})


def write(seen: dict[str, Any]) -> None:
    line = json.dumps(seen)
    Path(os.environ["ARCI_WORKDIR"], "seen.json").write_text(line, encoding="utf-8")
    sys.stdout.write(line + "\n")


class Text:
    """An answer as it comes."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def add(self, part: str | None) -> None:
        if part:
            self.parts.append(part)

    def seen(self, **more: Any) -> dict[str, Any]:
        return {"text": "".join(self.parts), "pieces": len(self.parts), **more}


class Shelf:
    """The one tool that programs offer; what it was called with."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def count(self, item: str) -> int:
        """How many pieces of an article are on the shelf."""
        self.calls.append({"item": item})
        return 7


SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
"""Parameters of `count`, where a package wants them by hand."""
