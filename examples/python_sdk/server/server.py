"""A shop as an MCP server, with the official SDK. ARCI starts it as it is, in a container that the agent cannot see."""

from __future__ import annotations

import os
import random

from mcp.server.mcpserver import MCPServer

PRICE = random.Random(f"{os.environ['ARCI_SEED']}:price").randint(5, 50)
charges: list[int] = []
server = MCPServer("shop")


@server.tool()
def get_price(order: str) -> int:
    """What the order costs."""
    return PRICE


@server.tool()
def list_charges(order: str) -> list[int]:
    """What was charged for the order so far."""
    return charges


@server.tool()
def charge(order: str, amount: int) -> bool:
    """Charge the customer."""
    charges.append(amount)
    return True


@server.tool()
def export_books() -> dict[str, int | list[int]]:
    """Price and charges. The descriptor names it as the snapshot, so the agent can neither see nor call it."""
    return {"price": PRICE, "charges": charges}


server.run("stdio")
