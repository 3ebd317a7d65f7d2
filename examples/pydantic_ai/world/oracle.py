"""Judges the helpdesk's tickets alone: what the agent prints does not count."""

from __future__ import annotations

from typing import Any


def has_one_ticket(task: dict[str, Any], final_state: dict[str, Any]) -> bool:
    """Exactly one ticket, of the customer who complained."""
    customer = final_state["customers"][task["email"]]
    return [ticket["customer"] for ticket in final_state["tickets"]] == [customer]
