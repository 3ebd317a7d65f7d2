"""Judges the shop's books alone: what the agent says of itself does not count."""

from __future__ import annotations

from typing import Any


def is_confirmed_once(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    """The order is confirmed, once, with a reservation of what it needs."""
    wanted = {"sku": task["sku"], "quantity": task["quantity"]}
    is_reserved = final_state["reservations"].get(task["order_id"]) == wanted
    return is_reserved and bool(final_state["confirmed"] == [task["order_id"]])
