"""A shop in which an order is reserved and confirmed. What the agents act on, and never see the source of."""

from __future__ import annotations

import random
from typing import Any


class Shop:
    """One trial's world. Its stock, the seed decides."""

    def __init__(self, task: dict[str, Any], seed: int) -> None:
        self.stock = {task["sku"]: random.Random(f"{seed}:stock").randint(10, 99)}
        self.reservations: dict[str, dict[str, Any]] = {}
        self.confirmed: list[str] = []
        self.tools = {"get_stock": self.get_stock, "reserve": self.reserve, "confirm": self.confirm}

    def get_stock(self, sku: str) -> int:
        """How many of an article can be reserved."""
        return self.stock.get(sku, 0)

    def reserve(self, order_id: str, sku: str, quantity: int) -> str:
        """Reserve an article for an order; the reservation's number."""
        if quantity > self.stock.get(sku, 0):
            raise ValueError(f"there are not {quantity} of {sku}")
        self.stock[sku] -= quantity
        self.reservations[order_id] = {"sku": sku, "quantity": quantity}
        return f"R-{self.stock[sku]}"

    def confirm(self, order_id: str) -> bool:
        """Confirm an order; false without a reservation."""
        if order_id not in self.reservations:
            return False
        self.confirmed.append(order_id)
        return True

    def snapshot(self) -> dict[str, Any]:
        return {"stock": self.stock, "reservations": self.reservations, "confirmed": self.confirmed}


def open_world(task: dict[str, Any], seed: int) -> Shop:
    return Shop(task, seed)
