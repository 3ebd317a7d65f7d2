"""Judges the shop's books, which only the grader is shown."""

from __future__ import annotations

from typing import Any


def is_paid_once(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    return bool(final_state["charges"] == [final_state["price"]])
