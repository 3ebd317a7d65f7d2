"""Knows whether the agent came to its end."""

from __future__ import annotations

from typing import Any


class World:
    def __init__(self) -> None:
        self.ends = 0
        self.tools = {"done": self.done}

    def done(self) -> bool:
        """The agent has come to its end."""
        self.ends += 1
        return True

    def snapshot(self) -> dict[str, int]:
        return {"ends": self.ends}


def open_world(task: dict[str, Any], seed: int) -> World:
    return World()


def is_done(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    return bool(final_state["ends"] == 1)
