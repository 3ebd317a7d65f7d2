"""A shelf with one article: how much of it there is cannot be guessed, and an order of it all needs that number."""

import random


class Shelf:
    def __init__(self, seed: int) -> None:
        draw = random.Random(f"{seed}:shelf")
        self.stock = draw.randint(1000, 9999)
        self.receipt = f"receipt-{draw.randint(1000, 9999)}"
        self.counts = 0
        self.orders: list[dict[str, object]] = []
        self.tools = {"count": self.count, "order": self.order}

    def count(self, item: str) -> int:
        """How many pieces of an article are on the shelf."""
        self.counts += 1
        return self.stock

    def order(self, item: str, quantity: int) -> str:
        """Order that many pieces of an article. Answers the receipt."""
        self.orders.append({"item": item, "quantity": quantity})
        return self.receipt

    def snapshot(self) -> dict[str, object]:
        return {"stock": self.stock, "receipt": self.receipt, "counts": self.counts, "orders": self.orders}


def open_shelf(task: dict[str, object], seed: int) -> Shelf:
    return Shelf(seed)
