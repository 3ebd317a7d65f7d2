"""Judges the final state alone: what the agent says of itself does not count."""

from __future__ import annotations


def is_confirmed_once(task: dict, final_state: dict) -> bool:
    """Exactly one confirmed entry, equal to the task's order, sku and quantity."""
    wanted = {key: task[key] for key in ("order_id", "sku", "quantity")}
    return bool(final_state["confirmed"] == [wanted])
