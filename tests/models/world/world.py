"""Nothing to act on: these agents only call their model."""

from __future__ import annotations

from typing import Any


class World:
    def __init__(self) -> None:
        self.tools = {"noop": self.noop}

    def noop(self) -> None:
        """Does nothing."""

    def snapshot(self) -> dict[str, Any]:
        return {}


def open_world(task: dict[str, Any], seed: int) -> World:
    return World()
