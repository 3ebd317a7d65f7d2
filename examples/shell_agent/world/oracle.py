"""Judges the cluster alone: what the agent prints does not count."""

from __future__ import annotations

from typing import Any


def is_deployed_once(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    """The wanted version runs; it was deployed once, or never where it ran already."""
    wanted = [] if final_state["initial"] == task["version"] else [task["version"]]
    return bool(final_state["version"] == task["version"] and final_state["deployments"] == wanted)
