"""An inventory in which one order is reserved and confirmed. What the agents act on, and never see the source of."""

from __future__ import annotations

import random


class Inventory:
    """One trial's world. `tools` is what the agent may call, `snapshot` what the oracle judges."""

    def __init__(self, task: dict, seed: int) -> None:
        self.stock = {task["sku"]: task["stock"]}
        self.reservations: dict[str, dict] = {}
        self.confirmed: list[dict] = []
        self.transient_failures = 4 if random.Random(f"{seed}:backend-confirm").random() < 0.04 else 0
        if random.Random(f"{seed}:reservation").random() < 0.65:
            self.reserve(task["order_id"], task["sku"], task["quantity"])
        self.tools = {
            "get_stock": self.get_stock,
            "get_reservation": self.get_reservation,
            "reserve": self.reserve,
            "confirm": self.confirm,
        }

    def get_stock(self, sku: str) -> int:
        """How many of `sku` can still be reserved."""
        count: int = self.stock.get(sku, 0)
        return count

    def get_reservation(self, order_id: str) -> dict:
        """Whether the order has a reservation, and of how many."""
        held = self.reservations.get(order_id)
        return {"reserved": held is not None, "quantity": held["quantity"] if held else 0}

    def reserve(self, order_id: str, sku: str, quantity: int) -> bool:
        """Reserve; true also for an order that is reserved already, false where the stock is too small."""
        if order_id in self.reservations:
            return True
        if quantity > self.stock.get(sku, 0):
            return False
        self.stock[sku] -= quantity
        self.reservations[order_id] = {"sku": sku, "quantity": quantity}
        return True

    def confirm(self, order_id: str, sku: str) -> bool:
        """Confirm a reserved order; false without a reservation, or when it was confirmed before."""
        if self.transient_failures > 0:
            self.transient_failures -= 1
            raise RuntimeError("order backend is temporarily unavailable")
        held = self.reservations.get(order_id)
        if held is None or held["sku"] != sku or any(entry["order_id"] == order_id for entry in self.confirmed):
            return False
        self.confirmed.append({"order_id": order_id, "sku": sku, "quantity": held["quantity"]})
        return True

    def snapshot(self) -> dict:
        return {"stock": self.stock, "reservations": self.reservations, "confirmed": self.confirmed}


def open_world(task: dict, seed: int) -> Inventory:
    return Inventory(task, seed)
