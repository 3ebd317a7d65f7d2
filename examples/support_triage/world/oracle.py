"""Judges the queues alone: what the agent says of itself does not count."""

from __future__ import annotations

from typing import Any


def is_in_the_right_queue(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    """The ticket is in its team's queue, once, and in no other."""
    return bool(final_state["queues"] == {final_state["team"]: [task["ticket"]]})
