"""A helpdesk with customers and tickets. What the agent acts on through MCP, and never sees the source of."""

from __future__ import annotations

import random
from typing import Any


class Helpdesk:
    """One trial's world. The customer's number, the seed decides."""

    def __init__(self, seed: int) -> None:
        self.customers = {"ada@example.org": f"C-{random.Random(f'{seed}:customer').randint(100, 999)}"}
        self.tickets: list[dict[str, str]] = []
        self.tools = {"find_customer": self.find_customer, "open_ticket": self.open_ticket}

    def find_customer(self, email: str) -> str:
        """The customer's number."""
        return self.customers[email]

    def open_ticket(self, customer: str, subject: str) -> str:
        """Open a ticket for a customer; its number."""
        self.tickets.append({"customer": customer, "subject": subject})
        return f"T-{len(self.tickets)}"

    def snapshot(self) -> dict[str, Any]:
        return {"customers": self.customers, "tickets": self.tickets}


def open_world(task: dict[str, Any], seed: int) -> Helpdesk:
    return Helpdesk(seed)
