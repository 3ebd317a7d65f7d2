"""Judges the final state alone: what the agent says of itself does not count."""

from __future__ import annotations

from typing import Any


def is_confirmed_once(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    """Exactly one confirmed entry, equal to the task's order, sku and quantity."""
    wanted = {key: task[key] for key in ("order_id", "sku", "quantity")}
    return bool(final_state["confirmed"] == [wanted])
