"""Judges the depot's books alone: what the agent prints does not count."""

from __future__ import annotations

from typing import Any


def is_booked_once(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    """One pickup of the parcel, in the earliest window."""
    wanted = {"parcel": task["parcel"], "window": final_state["windows"][0]}
    return bool(final_state["pickups"] == [wanted])
