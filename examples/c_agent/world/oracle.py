"""Judges the room alone: what the agent prints does not count."""

from __future__ import annotations

from typing import Any


def is_heater_off(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    return final_state["heater"] is False
