"""Judges the file that the agent left behind: it is data from an untrusted place, and is only ever read."""

from __future__ import annotations

import json
from typing import Any


def has_right_report(task: dict[str, Any], final_state: dict[str, Any], evidence: dict[str, Any]) -> bool:
    """`report.json` holds the total of every region as a number, and nothing else."""
    text = evidence["files"].get(task["report"], {}).get("text")
    if text is None:
        return False
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return bool(report == {"totals": {region: sum(amounts) for region, amounts in final_state["sales"].items()}})
